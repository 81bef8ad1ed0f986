// The expression finds every control character: C0, DEL and C1.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/

/** Whether a text has at most `characters_max` code points and can be stored: no U+0000 and no lone surrogate (E5). */
export function isText(text: string, characters_max: number): boolean {
  // A text has at most as many code points as UTF-16 units, so they are counted only for texts near the limit.
  const is_short =
    text.length <= characters_max || (text.length <= 2 * characters_max && [...text].length <= characters_max)
  return is_short && !text.includes('\0') && text.isWellFormed()
}

/** Whether a text is one of `isText` without control characters, so that it fits into one line. */
export function isLine(text: string, characters_max: number): boolean {
  return isText(text, characters_max) && !CONTROL_CHARACTER.test(text)
}
