import fc from 'fast-check'
import type { FieldShape, ObjectShape, Shape } from '../json/schema.ts'
import type { PublicMethod } from '../methods/method.ts'

type Change = (value: unknown) => unknown

/** Texts that some rules accept and others refuse: formats, lengths at the bounds, and characters that no text may hold. */
const TEXTS = [
  ...['', ' ', 'a', 'order-1', 'INR', 'inr', 'XX', '5', '-5', '007', '5.0', '9'.repeat(41), '5'.repeat(40)],
  ...['a@b.co', 'ä@exämple.de', 'a@b', 'a b@c.de', 'a\ud800@b.co', `${'a'.repeat(65)}@b.co`],
  ...[
    'https://shop.example.com/ok?a=1#b',
    'HTTP://a.co',
    'ftp://a.co',
    'https:a.co',
    'https://a b.co',
    'https://ü.de',
  ],
  '0199c0de-0000-7000-8000-000000000001',
  '0199C0DE-0000-7000-8000-00000000000A',
  'ab'.repeat(32),
  ...['2026-11-22T10:00:00Z', '2026-11-22T10:00:00.123456+05:30', '2026-11-22', '2026-11-22T25:00:00Z'],
  ...['a\0b', '\ud800', '\udc00\ud800', 'a\tb', 'a\u0085b', '💶'],
  ...[10, 11, 64, 128, 129, 254, 255, 1024, 1025].flatMap((length) => [
    'x'.repeat(length),
    '💶'.repeat(length),
  ]),
  `https://a.co/${'x'.repeat(2035)}`,
  `https://a.co/${'x'.repeat(2036)}`,
] as const

/** Numbers whose JSON form has the same value. */
const NUMBERS = [0, -0, 1, -1, 501, 1.5, 9_007_199_254_740_991, 9_007_199_254_740_992, 1e20, -1e20] as const

const KEYS = [
  'x',
  '',
  '__proto__',
  'constructor',
  'payer',
  'receiver',
  'p_id',
  'operation_id',
  'merchant_id',
  'c_id',
]

const anything = fc.oneof(
  fc.constantFrom<unknown>(...TEXTS, ...NUMBERS, null, true, false),
  fc.constantFrom<unknown>([], {}, [1], ['a'], { c_id: 'a' }, { id: 1 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
)

/** Requests of a method: valid ones, and ones with up to three changes anywhere. */
export function requestsOf({ name, request }: PublicMethod, has_envelope: boolean): fc.Arbitrary<unknown> {
  const valid = valuesOf(request).map((value) => (has_envelope ? { ...Object(value), method: name } : value))
  const changed = fc
    .tuple(valid, fc.array(changeAnywhere, { minLength: 1, maxLength: 3 }))
    .map(([value, changes]) => changes.reduce((before: unknown, change) => change(before), value))
  return fc.oneof({ weight: 1, arbitrary: valid }, { weight: 3, arbitrary: changed })
}

/** Requests with every field, one for each of its texts and each text that may be a boundary case there. */
export function boundaryRequestsOf(
  { name, request }: PublicMethod,
  has_envelope: boolean,
): readonly unknown[] {
  const [value] = fc.sample(valuesOf(request, true), { numRuns: 1, seed: 1 })
  const valid = has_envelope ? { ...Object(value), method: name } : value
  return textsIn(request).flatMap(({ path, max }) => {
    const lengths = [max - 1, max, max + 1].flatMap((length) => ['x'.repeat(length), '💶'.repeat(length)])
    return [...TEXTS, ...lengths].map((text) => changedAt(valid, path, () => text))
  })
}

function textsIn(shape: Shape, path: readonly string[] = []): { path: readonly string[]; max: number }[] {
  if (shape.type === 'text') return [{ path, max: shape.max }]
  if (shape.type !== 'object') return []
  return Object.entries(shape.fields)
    .filter(([, { presence }]) => presence !== 'not_applicable')
    .flatMap(([key, field]) => textsIn(field, [...path, key]))
}

function valuesOf(shape: Shape, is_full = false): fc.Arbitrary<unknown> {
  switch (shape.type) {
    case 'object':
      return objectsOf(shape, is_full).filter(
        (value) => !shape.at_least_one || shape.at_least_one.some((name) => name in value),
      )
    case 'word':
      return fc.constantFrom(...shape.words)
    case 'list':
      return fc.array(valuesOf(shape.item, is_full), { maxLength: shape.max })
    case 'text':
      return fc.constantFrom(...textsFor(shape))
    case 'integer': {
      const texts = shape.text_pattern === undefined ? [] : ['501', '-5']
      const integers = [1, 25, 501, 9_007_199_254_740_991].filter(
        (value) => value >= Number(shape.min ?? 0n) && value <= Number(shape.max ?? value),
      )
      return fc.constantFrom<unknown>(...texts, ...integers)
    }
    case 'anything':
      return anything
  }
}

/** Objects with every required field; of the fields of `exactly_one` they have one. */
function objectsOf(
  { fields, exactly_one = [], required_for }: ObjectShape,
  is_full: boolean,
): fc.Arbitrary<object> {
  const alternatives = exactly_one.map((chosen) => objectsWith(fields, is_full, exactly_one, chosen))
  const objects = alternatives.length > 0 ? fc.oneof(...alternatives) : objectsWith(fields, is_full)
  return required_for
    ? objects.filter((value) => {
        const { [required_for.of]: word } = Object(value)
        return required_for.field in value || !required_for.words.includes(word)
      })
    : objects
}

function objectsWith(
  fields: Readonly<Record<string, FieldShape>>,
  is_full: boolean,
  exclusive: readonly string[] = [],
  chosen?: string,
): fc.Arbitrary<object> {
  const shown = Object.entries(fields).filter(
    ([name, { presence }]) => presence !== 'not_applicable' && (name === chosen || !exclusive.includes(name)),
  )
  const required = shown.filter(
    ([name, { presence }]) => is_full || presence === 'required' || name === chosen,
  )
  const required_keys = required.map(([name]) => name)
  const values = Object.fromEntries(shown.map(([name, field]) => [name, valuesOf(field, is_full)]))
  return fc.record(values, { requiredKeys: required_keys, noNullPrototype: true })
}

function textsFor({ min, max, pattern }: Extract<Shape, { type: 'text' }>): readonly string[] {
  const form = new RegExp(pattern, 'u')
  return TEXTS.filter((text) => {
    const length = [...text].length
    return length >= min && length <= max && form.test(text)
  })
}

/** A change at a random place of a value. A text mostly stays a text, and a number a number. */
const changeAnywhere: fc.Arbitrary<Change> = fc
  .record({
    where: fc.noBias(fc.nat(1_000_000)),
    kind: fc.constantFrom('keep type', 'keep type', 'replace', 'remove', 'add'),
    key: fc.constantFrom(...KEYS),
    value: anything,
    text: fc.constantFrom(...TEXTS),
    number: fc.constantFrom(...NUMBERS),
  })
  .map(({ where, kind, key, value, text, number }) => (request) => {
    const same_type = new Map<string, unknown>([
      ['string', text],
      ['number', number],
    ])
    const changes: Readonly<Record<string, Change>> = {
      'keep type': (at) => same_type.get(typeof at) ?? at,
      replace: () => value,
      remove: () => undefined,
      add: (at) => withMember(at, key, value),
    }
    const places = placesOf(request)
    return changedAt(request, places[where % places.length] ?? [], changes[kind] ?? ((at) => at))
  })

function placesOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  const inner =
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, member]) => placesOf(member, [...path, key]))
      : []
  return [path, ...inner]
}

function changedAt(value: unknown, [key, ...rest]: readonly string[], change: Change): unknown {
  if (key === undefined) return change(value)
  return withMember(value, key, changedAt(Object(value)[key], rest, change))
}

/** JSON.stringify omits a member that is undefined. `__proto__` is a key like any other, as only own members are read. */
function withMember(value: unknown, key: string, member: unknown): unknown {
  if (Array.isArray(value)) return value.map((item, index) => (String(index) === key ? member : item))
  if (typeof value !== 'object' || value === null) return member
  return Object.fromEntries([...Object.entries(value), [key, member]])
}
