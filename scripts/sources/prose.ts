import type { SourceFile } from './sources.ts'

/** A comment, a string or a part of a page. `text` has the length of the original, so that offsets remain valid. */
export interface Prose {
  readonly kind: 'comment' | 'string' | 'page'
  readonly offset: number
  readonly text: string
}

/** The comments and strings of code, and the text of a page, all without code in backticks. */
export function proseOf(file: SourceFile): readonly Prose[] {
  return proseWithInlineCode(file).map((prose) => ({ ...prose, text: withoutInlineCode(prose.text) }))
}

/** As `proseOf`, but with the code in backticks, which may be a citation. */
export function proseWithInlineCode({ path, text }: SourceFile): readonly Prose[] {
  return path.endsWith('.md') ? pageProse(text) : codeProse(text, path.endsWith('.proto'))
}

/** The line of a file, counted from 1, in which an offset is. */
export function lineOf({ text }: SourceFile, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

function pageProse(text: string): readonly Prose[] {
  return [{ kind: 'page', offset: 0, text: text.replace(/^```.*?^```/gms, blank) }]
}

/** A slash after one of these begins a regular expression, after anything else it is a division. */
const BEFORE_REGEX = /(?:^|[(,=:[!&|?{};<>+\-*%~^]|\b(?:return|typeof|case|in|of))\s*$/

/** One token at a time: all that can contain a quote or a slash has to be recognised, or the rest is misread. */
function codeProse(code: string, is_proto: boolean): readonly Prose[] {
  const found: Prose[] = []
  const add = (kind: Prose['kind'], start: number, end: number): void => {
    const text = kind === 'comment' ? commentText(code.slice(start, end)) : code.slice(start, end)
    found.push({ kind, offset: start, text })
  }
  for (let at = 0; at < code.length; ) {
    const end = endOfToken(code, at, is_proto)
    const start_text = code.slice(at, at + 2)
    if (start_text === '//' || start_text === '/*') add('comment', at, end)
    else if (end - at > 1 && /['"`]/.test(code[at] ?? '')) add('string', at + 1, end - 1)
    at = end
  }
  return found
}

function endOfToken(code: string, at: number, is_proto: boolean): number {
  const after = (pattern: RegExp): number => {
    pattern.lastIndex = at
    return pattern.test(code) ? pattern.lastIndex : at + 1
  }
  switch (code[at]) {
    case "'":
      return after(/'(?:[^'\\\n]|\\[\s\S])*'/y)
    case '"':
      return after(/"(?:[^"\\\n]|\\[\s\S])*"/y)
    case '`':
      return endOfTemplate(code, at)
    case '/':
      if (code[at + 1] === '/') return after(/\/\/[^\n]*(?:\n[ \t]*\/\/[^\n]*)*/y)
      if (code[at + 1] === '*') return after(/\/\*[\s\S]*?\*\//y)
      if (is_proto || !BEFORE_REGEX.test(code.slice(Math.max(0, at - 40), at))) return at + 1
      return after(/\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y)
    default:
      return at + 1
  }
}

/** A template can hold expressions, and these templates; the whole of it counts as one string. */
function endOfTemplate(code: string, start: number): number {
  let at = start + 1
  while (at < code.length && code[at] !== '`') {
    if (code[at] === '\\') at += 2
    else if (code.startsWith('${', at)) at = endOfExpression(code, at + 2)
    else at += 1
  }
  return at + 1
}

function endOfExpression(code: string, start: number): number {
  let depth = 1
  let at = start
  while (at < code.length && depth > 0) {
    if (code[at] === '{') depth += 1
    if (code[at] === '}') depth -= 1
    at = code[at] === '}' || code[at] === '{' ? at + 1 : endOfToken(code, at, false)
  }
  return at
}

/** The comment without its marks, so that a phrase that a line break divides is still found. */
function commentText(comment: string): string {
  return comment.replace(/\/\*+|\*\/|\n[ \t]*(?:\*|\/\/)?|^\/\//g, blankLine)
}

function withoutInlineCode(text: string): string {
  return text.replace(/`[^`\n]*`/g, (code) => '`'.padEnd(code.length, ' '))
}

const blank = (text: string): string => text.replace(/[^\n]/g, ' ')
const blankLine = (text: string): string => ' '.repeat(text.length)
