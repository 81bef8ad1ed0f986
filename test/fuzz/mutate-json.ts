import fc from 'fast-check'
import { METHODS } from '#lib/contract/methods.ts'
import type { Dice } from './dice.ts'
import { type ObjectTree, objectsOf, type Place, placesOf, type Tree, textOf, treeOf } from './json-tree.ts'

/** Texts that a strict reader has to judge, each in the place of a value. Some are no JSON. */
const ODD_TEXTS = [
  ...[
    'null',
    'true',
    'false',
    '{}',
    '[]',
    '""',
    '0',
    '-0',
    '-1',
    '1',
    '1.0',
    '1e2',
    '1E+2',
    '1e400',
    '-1e400',
  ],
  ...['12300.0', '0.1', '1e-400', '9007199254740991', '9007199254740992', '9223372036854775807'],
  ...[
    '9223372036854775808',
    '18446744073709551616',
    '1'.repeat(400),
    '0100',
    '+1',
    '.5',
    '1.',
    '0x10',
    '1_000',
  ],
  ...['NaN', 'Infinity', '-Infinity', 'undefined', "'x'", 'x', '"12300"', '"0"', '" 1"', '"1.0"'],
  ...[
    '"\\u0000"',
    '"\\ud800"',
    '"\\udc00x"',
    '"\\ud83d\\ude00"',
    '"\\x41"',
    '"\\u00"',
    '"a\nb"',
    '"\u2028"',
    '"\\b"',
  ],
  ...[
    '"\u202e"',
    '"\ufeff"',
    '"',
    '"\\',
    '[',
    '{',
    ']',
    '}',
    ',',
    ':',
    '',
    '[,]',
    '{"a"}',
    '{"a":}',
    '{,}',
    '[1,]',
  ],
] as const

const ODD_KEYS = [
  ...[
    '"__proto__"',
    '"constructor"',
    '"prototype"',
    '"toString"',
    '"hasOwnProperty"',
    '"valueOf"',
    '"then"',
    '"toJSON"',
  ],
  ...[
    '"merchant_id"',
    '"application_id"',
    '"actor"',
    '"source"',
    '"service_id"',
    '"operation_id"',
    '"p_id"',
    '"next"',
  ],
  ...[
    '"clabe"',
    '"receiver"',
    '"payer"',
    '"payment"',
    '"params"',
    '"method"',
    '"id"',
    '""',
    '" "',
    '"0"',
    '"a.b"',
  ],
  ...['"\\u0000"', '"\\ud800"', '"\u{1f600}"', 'bare', "'single'", '1', '"unclosed'],
] as const

const SPACES = [' ', '\t', '\n', '\r\n', '\u00a0', '\v', '\f', '\ufeff', '\u2003', '/**/', '\0'] as const
const AROUND = ['\ufeff', ' ', '\n', ',', '{}', '}', '\0', 'x', '// end\n', '"', ';'] as const
const TEXT_MAX = 500
const DEPTHS = [31, 32, 33, 64, 1_000, 20_000] as const

/** What a field may have to take, made by fast-check once for a seed: any JSON, any text. */
export function createValues(seed: number): readonly string[] {
  const text = fc.string({ unit: 'binary', maxLength: 200 }).map((value) => JSON.stringify(value))
  const value = fc.jsonValue({ maxDepth: 5 }).map((each) => JSON.stringify(each))
  return fc.sample(fc.oneof(text, value), { seed, numRuns: 2_000 })
}

/** Changes the text of a valid request once or a few times, knowing what JSON is. It may still be valid afterwards. */
export function mutateJson(value: unknown, dice: Dice, values: readonly string[]): string {
  const tree = treeOf(value)
  const count = dice.weighted([
    [6, 1],
    [2, 2],
    [1, 4],
  ])
  for (let done = 0; done < count; done++) mutateOnce(tree, dice, values)
  const text = textOf(tree, dice.chance(0.1) ? dice.pick(SPACES) : '')
  if (dice.chance(0.05)) return dice.pick(AROUND) + text
  return dice.chance(0.05) ? text + dice.pick(AROUND) : text
}

function mutateOnce(tree: Tree, dice: Dice, values: readonly string[]): void {
  const places = placesOf(tree)
  // An earlier change may have left nothing to change.
  if (places.length > 0)
    dice.weighted(CHANGES)(dice.pick(objectsOf(tree)), dice.pick(places), dice, values, tree)
}

type Change = (object: ObjectTree, place: Place, dice: Dice, values: readonly string[], tree: Tree) => void

const CHANGES: readonly (readonly [number, Change])[] = [
  [8, (_object, place, dice) => place.put({ text: dice.pick(ODD_TEXTS) })],
  [8, (_object, place, dice, values) => place.put({ text: dice.pick(values) })],
  [4, (object, _place, dice) => void object.pairs.splice(dice.integer(object.pairs.length), 1)],
  [4, duplicateKey],
  [
    6,
    (object, _place, dice, values) =>
      void object.pairs.push([dice.pick(ODD_KEYS), { text: dice.pick(values) }]),
  ],
  [2, (object, _place, dice) => respellKey(object, dice, (key) => key.toUpperCase())],
  [2, (object, _place, dice) => respellKey(object, dice, (key) => `"${key.slice(1, -1)} "`)],
  [2, (object, _place, dice) => respellKey(object, dice, escaped)],
  [2, (_object, place) => respellText(place, escaped)],
  [
    3,
    (_object, place, dice) =>
      respellText(place, (text) => `"${text.slice(1, -1).repeat(dice.pick([0, 2, 40, 2_000]))}"`),
  ],
  [3, (_object, place, dice) => place.put(nested(place.value, dice.pick(DEPTHS), dice.chance(0.5)))],
  [2, (_object, place) => place.put({ items: [place.value] })],
  [3, swap],
  [2, (object) => void object.pairs.reverse()],
  [3, (_object, _place, dice, _values, tree) => renameMethod(tree, dice)],
  [1, (_object, place) => place.put({ items: Array.from({ length: 5_000 }, () => ({ text: '1' })) })],
]

/** The same key once more, perhaps spelled with escapes, with the same value or another. */
function duplicateKey({ pairs }: ObjectTree, _place: Place, dice: Dice, values: readonly string[]): void {
  if (pairs.length === 0) return
  const [key, value] = dice.pick(pairs)
  const other = dice.chance(0.5) ? value : { text: dice.pick(values) }
  pairs.splice(dice.integer(pairs.length + 1), 0, [dice.chance(0.5) ? key : escaped(key), other])
}

function swap(_object: ObjectTree, place: Place, dice: Dice, _values: readonly string[], tree: Tree): void {
  const other = dice.pick(placesOf(tree))
  if (placesOf(place.value).some(({ value }) => value === other.value)) return
  if (placesOf(other.value).some(({ value }) => value === place.value)) return
  place.put(other.value)
  other.put(place.value)
}

function respellKey({ pairs }: ObjectTree, dice: Dice, respell: (key: string) => string): void {
  if (pairs.length === 0) return
  const pair = dice.pick(pairs)
  pair[0] = respell(pair[0])
}

function respellText({ value, put }: Place, respell: (text: string) => string): void {
  if (!('text' in value) || !value.text.startsWith('"')) return
  // What was made long once is not made longer: it would only cost time.
  if (value.text.length < TEXT_MAX) put({ text: respell(value.text) })
}

/** The first character of a text written as an escape: another spelling of the same. */
function escaped(text: string): string {
  if (text.length < 3 || !/[ -~]/.test(text.charAt(1)) || text.charAt(1) === '\\') return text
  return `"\\u${text.charCodeAt(1).toString(16).padStart(4, '0')}${text.slice(2)}`
}

/** Written at once, because a tree of that depth could not be walked. */
function nested(value: Tree, depth: number, in_lists: boolean): Tree {
  const [before, after] = in_lists ? ['[', ']'] : ['{"a":', '}']
  return { text: before.repeat(depth) + textOf(value) + after.repeat(depth) }
}

function renameMethod(tree: Tree, dice: Dice): void {
  if (!('pairs' in tree)) return
  const pair = tree.pairs.find(([key]) => key === '"method"')
  const name = dice.pick([...METHODS, 'gateway.Ping', 'gateway.ping ', '__proto__', 'constructor', 'payment'])
  if (pair !== undefined) pair[1] = { text: JSON.stringify(name) }
}
