import { lineOf, proseOf, proseWithInlineCode } from '../sources/prose.ts'
import type { SourceFile } from '../sources/sources.ts'

/** Wording that a reader has to read twice, and what to write instead. */
interface UnclearWording {
  readonly name: string
  readonly pattern: RegExp
  readonly advice: string
  /** Whether the pattern also reads what is in backticks. */
  readonly reads_code?: true
}

const PLURALS =
  'bytes|calls|documents|events|failures|payments|requests|reads|signatures|transfers|tries|writes'
const TIMES = 'day|hour|minute|month|second|year'
const UNITS = `${TIMES}|account|credential|merchant|process|request|role|service|shard`

/** The word list. A pattern belongs here when most of its matches are unclear. */
const UNCLEAR: readonly UnclearWording[] = [
  { name: 'for ever', pattern: /\bfor ?ever\b/gi, advice: 'permanently' },
  { name: 'so many, so long', pattern: /\bso (many|long|much)\b/gi, advice: 'name the number or the time' },
  {
    name: 'who-clause as subject',
    pattern: /(?:^|[.:;(]\s+)\s*Who (?![^.]*\?)/g,
    advice: 'a caller that, a merchant that',
  },
  { name: 'whoever', pattern: /\bwho(so)?ever\b/gi, advice: 'a caller that, the process that' },
  { name: 'told', pattern: /\btold\b/gi, advice: 'returned, reported, notified' },
  {
    name: 'nobody, anybody, everybody',
    pattern: /\b(nobody|anybody|everybody)\b/gi,
    advice: 'no caller, every caller, or the part that is meant',
  },
  {
    name: 'X a Y for X per Y',
    pattern: new RegExp(`\\b(?:${PLURALS}) an? (?:${TIMES})\\b(?! \\w*(?:document|time|process))`, 'gi'),
    advice: 'X per Y',
  },
  {
    name: 'an X a Y for one X per Y',
    pattern: new RegExp(
      `\\b(?:an?|one) [\\w-]+ an? (?:${UNITS})\\b(?! (?:to|with|for|of|that|which)\\b)`,
      'gi',
    ),
    advice: 'one X per Y',
  },
  {
    name: 'is no X',
    pattern:
      /(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b|more than\b|less than\b|later than\b|way\b)/gi,
    advice: 'is not an X',
  },
  { name: 'beside', pattern: /\bbeside\b/gi, advice: 'next to, in addition to, with' },
  { name: 'behind its caller', pattern: /\bbehind (?:its|the) caller\b/gi, advice: 'after the caller' },
  { name: 'stands', pattern: /\bstands (?!for\b|in for\b)/gi, advice: 'is' },
  { name: 'found out', pattern: /\b(?:find|found) out\b/gi, advice: 'determine, read' },
  { name: 'away', pattern: /\b(?:be|been|is|are|was|were) away\b/gi, advice: 'is unavailable' },
  { name: 'fate', pattern: /\bfates?\b/gi, advice: 'outcome' },
  { name: 'in hand', pattern: /\bin hand\b/gi, advice: 'in progress' },
  {
    name: 'house, walls, knock',
    pattern: /\b(?:the house|the walls|knock(?:s|ed)?)\b/gi,
    advice: 'plain terms',
  },
  { name: 'let be', pattern: /\b(?:is|are) let be\b/gi, advice: 'is ignored' },
  {
    name: 'pronoun for a noun',
    pattern: /\b(?:(?:that|those) of|one that|of which|of whom)\b/gi,
    advice: 'the noun',
  },
  {
    name: 'code as a predicate',
    pattern: /(?<!\b(?:code|codes|secret) )\b(?:is|are|was|were) `?\d{4,5}\b(?! ?[%\w])/g,
    advice: 'refused with `1005`, answered with `2002`',
    reads_code: true,
  },
  { name: 'what becomes of', pattern: /\b(?:becomes?|became) of\b/gi, advice: 'happens to' },
]

/** Uses that are right. Each one has a reason. */
const ALLOWED: readonly { readonly path: RegExp; readonly text: RegExp; readonly reason: string }[] = [
  {
    path: /^scripts\/docs\/wordings/,
    text: /./,
    reason: 'the word list has to contain the words',
  },
  {
    path: /^docs\/contract\/specification\.md$/,
    text: /./,
    reason: 'the specification has the words of its author',
  },
  {
    path: /^CONTRIBUTING\.md$/,
    text: /for ever|told|nobody|anybody|beside|is no |stands|calls a second|a process a role/,
    reason: 'the page shows what not to write',
  },
]

/** Identifiers and short strings are not prose: a string counts from three words on. */
const SENTENCE = /\S+\s+\S+\s+\S+/

/** The unclear wordings of a file, as sentences that name the place and the advice. */
export function unclearIn(file: SourceFile): readonly string[] {
  const { path, text } = file
  const readings = [proseOf(file), proseWithInlineCode(file)].map((prose) =>
    prose.filter(({ kind, text }) => kind !== 'string' || SENTENCE.test(text)),
  )
  return UNCLEAR.flatMap(({ name, pattern, advice, reads_code = false }) =>
    (readings[Number(reads_code)] ?? []).flatMap((prose) =>
      [...prose.text.matchAll(pattern)].map(({ 0: words, index }) => ({
        name,
        advice,
        words,
        offset: prose.offset + index,
      })),
    ),
  )
    .filter(({ offset, words }) => !isAllowed(path, text.slice(offset - 40, offset + words.length + 40)))
    .map(
      ({ name, advice, words, offset }) =>
        `${path}:${lineOf(file, offset)} "${words.trim()}" (${name}): write ${advice}`,
    )
}

function isAllowed(path: string, around: string): boolean {
  return ALLOWED.some((allowed) => allowed.path.test(path) && allowed.text.test(around))
}
