/** Characters that move the cursor, hide text or turn its direction; merchants can write them. */
const HOSTILE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** Text as one line that a terminal shows as it is. */
export function cleanText(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ').replace(HOSTILE, '\u{fffd}')
}
