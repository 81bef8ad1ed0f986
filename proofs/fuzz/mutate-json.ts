import { METHODS } from '#lib/contract/methods.ts'
import type { Choices } from './choices.ts'
import { type ObjectTree, objectsOf, type Place, placesOf, type Tree, textOf, treeOf } from './json-tree.ts'

/** Texts that take the place of a value. A strict JSON reader has to judge each; some are not JSON at all. */
const ODD_TEXTS = [
  ...'null true false {} [] "" 0 -0 -1 1 1.0 1e2 1E+2 1e400 -1e400 12300.0 0.1 1e-400'.split(' '),
  ...'9007199254740991 9007199254740992 9223372036854775807 9223372036854775808'.split(' '),
  ...'18446744073709551616 0100 +1 .5 1. 0x10 1_000 NaN Infinity -Infinity undefined'.split(' '),
  ...[`'x'`, 'x', '"12300"', '"0"', '" 1"', '"1.0"', '"\\u0000"', '"\\ud800"', '"\\udc00x"', '"\\x41"'],
  ...['"\\ud83d\\ude00"', '"\\u00"', '"a\nb"', '"\\b"', '"\u2028"', '"\u202e"', '"\ufeff"', '"', '"\\'],
  ...['', ...'[ { ] } , : [,] {"a"} {"a":} {,} [1,]'.split(' '), '1'.repeat(400)],
]

const ODD_KEYS = [
  ...'"__proto__" "constructor" "prototype" "toString" "hasOwnProperty" "valueOf" "then" "toJSON"'.split(' '),
  ...'"merchant_id" "application_id" "actor" "source" "service_id" "operation_id" "p_id" "next"'.split(' '),
  ...'"clabe" "receiver" "payer" "payment" "params" "method" "id" "" "0" "a.b"'.split(' '),
  ...['" "', '"\\u0000"', '"\\ud800"', '"\u{1f600}"', 'bare', "'single'", '1', '"unclosed'],
]

const SPACES = [' ', '\t', '\n', '\r\n', '\u00a0', '\v', '\f', '\ufeff', '\u2003', '/**/', '\0'] as const
const AROUND = ['\ufeff', ' ', '\n', ',', '{}', '}', '\0', 'x', '// end\n', '"', ';'] as const
const TEXT_MAX = 500
const DEPTHS = [31, 32, 33, 64, 1_000, 20_000] as const

/** Changes the JSON text of a valid request in 1 to 4 places. The result may still be valid. */
export function mutateJson(value: unknown, choices: Choices): string {
  const tree = treeOf(value)
  const count = choices.weighted([
    [6, 1],
    [2, 2],
    [1, 4],
  ])
  for (let done = 0; done < count; done += 1) mutateOnce(tree, choices)
  const text = textOf(tree, choices.chance(0.1) ? choices.pick(SPACES) : '')
  if (choices.chance(0.05)) return choices.pick(AROUND) + text
  return choices.chance(0.05) ? text + choices.pick(AROUND) : text
}

function mutateOnce(tree: Tree, choices: Choices): void {
  const places = placesOf(tree)
  // An earlier change may have removed every place.
  if (places.length > 0)
    choices.weighted(CHANGES)(choices.pick(objectsOf(tree)), choices.pick(places), choices, tree)
}

type Change = (object: ObjectTree, place: Place, choices: Choices, tree: Tree) => void

const CHANGES: readonly (readonly [number, Change])[] = [
  [8, (_object, place, choices) => place.put({ text: choices.pick(ODD_TEXTS) })],
  [8, (_object, place, choices) => place.put({ text: choices.json() })],
  [4, (object, _place, choices) => void object.pairs.splice(choices.integer(object.pairs.length), 1)],
  [4, duplicateKey],
  [
    6,
    (object, _place, choices) => void object.pairs.push([choices.pick(ODD_KEYS), { text: choices.json() }]),
  ],
  [2, (object, _place, choices) => respellKey(object, choices, (key) => key.toUpperCase())],
  [2, (object, _place, choices) => respellKey(object, choices, (key) => `"${key.slice(1, -1)} "`)],
  [2, (object, _place, choices) => respellKey(object, choices, escaped)],
  [2, (_object, place) => respellText(place, escaped)],
  [
    3,
    (_object, place, choices) =>
      respellText(place, (text) => `"${text.slice(1, -1).repeat(choices.pick([0, 2, 40, 2_000]))}"`),
  ],
  [3, (_object, place, choices) => place.put(nested(place.value, choices.pick(DEPTHS), choices.chance(0.5)))],
  [2, (_object, place) => place.put({ items: [place.value] })],
  [3, swap],
  [2, (object) => void object.pairs.reverse()],
  [3, (_object, _place, choices, tree) => renameMethod(tree, choices)],
  [1, (_object, place) => place.put({ items: Array.from({ length: 5_000 }, () => ({ text: '1' })) })],
]

/** Repeats a key, possibly spelled with escapes, with the same value or another one. */
function duplicateKey({ pairs }: ObjectTree, _place: Place, choices: Choices): void {
  if (pairs.length === 0) return
  const [key, value] = choices.pick(pairs)
  const other = choices.chance(0.5) ? value : { text: choices.json() }
  pairs.splice(choices.integer(pairs.length + 1), 0, [choices.chance(0.5) ? key : escaped(key), other])
}

function swap(_object: ObjectTree, place: Place, choices: Choices, tree: Tree): void {
  const other = choices.pick(placesOf(tree))
  if (placesOf(place.value).some(({ value }) => value === other.value)) return
  if (placesOf(other.value).some(({ value }) => value === place.value)) return
  place.put(other.value)
  other.put(place.value)
}

function respellKey({ pairs }: ObjectTree, choices: Choices, respell: (key: string) => string): void {
  if (pairs.length === 0) return
  const pair = choices.pick(pairs)
  pair[0] = respell(pair[0])
}

function respellText({ value, put }: Place, respell: (text: string) => string): void {
  if (!('text' in value) || !value.text.startsWith('"')) return
  // A text that is long already is not made longer: that would only cost time.
  if (value.text.length < TEXT_MAX) put({ text: respell(value.text) })
}

/** Writes the first character of a text as an escape: another spelling of the same text. */
function escaped(text: string): string {
  if (text.length < 3 || !/[ -~]/.test(text.charAt(1)) || text.charAt(1) === '\\') return text
  return `"\\u${text.charCodeAt(1).toString(16).padStart(4, '0')}${text.slice(2)}`
}

/**
 * Nests a value in lists or objects. The result is text, because the recursive functions could not walk a tree of that
 * depth.
 */
function nested(value: Tree, depth: number, in_lists: boolean): Tree {
  const [before, after] = in_lists ? ['[', ']'] : ['{"a":', '}']
  return { text: before.repeat(depth) + textOf(value) + after.repeat(depth) }
}

function renameMethod(tree: Tree, choices: Choices): void {
  if (!('pairs' in tree)) return
  const pair = tree.pairs.find(([key]) => key === '"method"')
  const name = choices.pick([
    ...METHODS,
    'gateway.Ping',
    'gateway.ping ',
    '__proto__',
    'constructor',
    'payment',
  ])
  if (pair !== undefined) pair[1] = { text: JSON.stringify(name) }
}
