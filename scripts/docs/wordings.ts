import { lineOf, type Prose, proseOf, proseWithInlineCode } from '../sources/prose.ts'
import type { SourceFile } from '../sources/sources.ts'

/** Wording that a reader has to read twice, and what to write instead. */
type UnclearWording = readonly [name: string, pattern: RegExp, advice: string]

const PLURALS =
  'bytes|calls|documents|events|failures|payments|requests|reads|signatures|transfers|tries|writes'
const TIMES = 'day|hour|minute|month|second|year'
const UNITS = `${TIMES}|account|credential|merchant|process|request|role|service|shard`

/** The word list. A pattern belongs here when most of its matches are unclear. */
const UNCLEAR: readonly UnclearWording[] = [
  ['for ever', /\bfor ?ever\b/gi, 'permanently'],
  ['so many, so long', /\bso (many|long|much)\b/gi, 'name the number or the time'],
  ['who-clause as subject', /(?:^|[.:;(]\s+)\s*Who (?![^.]*\?)/g, 'a caller that, a merchant that'],
  ['whoever', /\bwho(so)?ever\b/gi, 'a caller that, the process that'],
  ['told', /\btold\b/gi, 'returned, reported, notified'],
  [
    'nobody, anybody, everybody',
    /\b(nobody|anybody|everybody)\b/gi,
    'no caller, every caller, or the part that is meant',
  ],
  [
    'X a Y for X per Y',
    new RegExp(`\\b(?:${PLURALS}) an? (?:${TIMES})\\b(?! \\w*(?:document|time|process))`, 'gi'),
    'X per Y',
  ],
  [
    'an X a Y for one X per Y',
    new RegExp(`\\b(?:an?|one) [\\w-]+ an? (?:${UNITS})\\b(?! (?:to|with|for|of|that|which)\\b)`, 'gi'),
    'one X per Y',
  ],
  [
    'is no X',
    /(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b|more than\b|less than\b|later than\b|way\b)/gi,
    'is not an X',
  ],
  ['beside', /\bbeside\b/gi, 'next to, in addition to, with'],
  ['behind its caller', /\bbehind (?:its|the) caller\b/gi, 'after the caller'],
  ['stands', /\bstands (?!for\b|in for\b)/gi, 'is'],
  ['found out', /\b(?:find|found) out\b/gi, 'determine, read'],
  ['away', /\b(?:be|been|is|are|was|were) away\b/gi, 'is unavailable'],
  ['fate', /\bfates?\b/gi, 'outcome'],
  ['in hand', /\bin hand\b/gi, 'in progress'],
  ['house, walls, knock', /\b(?:the house|the walls|knock(?:s|ed)?)\b/gi, 'plain terms'],
  ['let be', /\b(?:is|are) let be\b/gi, 'is ignored'],
  ['pronoun for a noun', /\b(?:(?:that|those) of|one that|of which|of whom)\b/gi, 'the noun'],
  ['what becomes of', /\b(?:becomes?|became) of\b/gi, 'happens to'],
]

/** Also looked for in backticks, where codes are. */
const UNCLEAR_WITH_CODE: readonly UnclearWording[] = [
  [
    'code as a predicate',
    /(?<!\b(?:code|codes|secret) )\b(?:is|are|was|were) `?\d{4,5}\b(?! ?[%\w])/g,
    'refused with `1005`, answered with `2002`',
  ],
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
  const look = (unclear: readonly UnclearWording[], prose: readonly Prose[]): readonly string[] =>
    unclear.flatMap(([name, pattern, advice]) =>
      prose
        .filter((part) => part.kind !== 'string' || SENTENCE.test(part.text))
        .flatMap((part) =>
          [...part.text.matchAll(pattern)].map(({ 0: words, index }) => ({ words, at: part.offset + index })),
        )
        .filter(({ words, at }) => !isAllowed(path, text.slice(at - 40, at + words.length + 40)))
        .map(({ words, at }) => `${path}:${lineOf(file, at)} "${words.trim()}" (${name}): write ${advice}`),
    )
  return [...look(UNCLEAR, proseOf(file)), ...look(UNCLEAR_WITH_CODE, proseWithInlineCode(file))]
}

function isAllowed(path: string, around: string): boolean {
  return ALLOWED.some((allowed) => allowed.path.test(path) && allowed.text.test(around))
}
