import { resendPath } from '../../gateway/paths.ts'
import { type Attempt, partsOf, wireOf, withHeader } from './attempt.ts'
import type { Dice } from './dice.ts'
import { METHOD_PATHS } from './proof.ts'
import { harmless, wouldBeStored } from './requests.ts'
import type { Header, Wire } from './wire.ts'
import type { World } from './world.ts'

type Change = (wire: Wire, dice: Dice) => Wire

/** Changes of the head that change nothing: the request has to succeed. */
const HARMLESS: readonly Change[] = [
  (wire, dice) => respelled(wire, dice, (name) => name.toLowerCase()),
  (wire, dice) => respelled(wire, dice, (name) => name.toUpperCase()),
  (wire) => ({ ...wire, headers: wire.headers.map(([name, value]): Header => [name, `\t ${value} \t`]) }),
  (wire) => ({ ...wire, headers: wire.headers.toReversed() }),
  (wire) => withHeader(wire, 'content-type', () => 'application/json; charset=utf-8'),
  (wire) => withHeader(wire, 'content-type', () => 'Application/JSON;charset="UTF-8"'),
  (wire, dice) => ({ ...wire, chunk_bytes: 1 + dice.integer(40) }),
  (wire) => plus(wire, ['Expect', '100-continue']),
  (wire, dice) => plus(wire, ['X-Request-ID', dice.pick(['mine', 'é', 'x'.repeat(500), '{"a":1}'])]),
  (wire, dice) => plus(wire, ['X-Forwarded-For', dice.pick(['203.0.113.7', '::1, 10.0.0.1', 'nobody', ','])]),
  (wire) => plus(wire, ['Connection', 'close']),
  (wire) => plus(wire, ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01']),
  (wire) => plus(wire, ['Cookie', 'a=b; __proto__=c'], ['__proto__', 'x'], ['constructor', 'y']),
  (wire) =>
    plus(wire, ['Accept-Encoding', 'gzip'], ['Accept', 'text/html'], ['X-HTTP-Method-Override', 'GET']),
]

/** Changes after which the head says something else, or nothing. */
const HARMFUL: readonly Change[] = [
  (wire, dice) =>
    without(wire, dice.pick(['content-type', 'x-data-application-id', 'x-data-hash', 'x-data-signature'])),
  twice,
  (wire, dice) => withHeader(wire, dice.pick(believed(wire)), (value) => oddValue(value, dice)),
  (wire, dice) => ({
    ...wire,
    verb: dice.pick(['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH', 'M-SEARCH']),
  }),
  (wire, dice) => ({ ...wire, target: oddTarget(wire.target, dice) }),
  (wire, dice) =>
    withHeader(wire, 'content-type', () =>
      dice.pick([
        'text/plain',
        'application/jsonx',
        'application/json; charset=latin1',
        '',
        'a/b; c=d',
        'json',
      ]),
    ),
  (wire, dice) => plus(wire, ['Content-Encoding', dice.pick(['gzip', 'identity', 'br', ''])]),
  (wire, dice) => ({ ...wire, target: `${wire.target}?${dice.pick(['', 'a=b', '__proto__=1', '%00'])}` }),
  (wire, dice) => plus(wire, ...Array.from({ length: 120 }, (_, at): Header => [`X-${at}`, dice.hex(2)])),
  (wire, dice) => plus(wire, ['X-Long', 'x'.repeat(dice.pick([17_000, 70_000]))]),
  (wire) => ({ ...wire, body: Buffer.alloc(1024 * 1024 + 1, ' ') }),
]

/** Headers, verb, target and framing, of a request whose proof was right before. */
export function attackHead(world: World, dice: Dice): Attempt {
  if (dice.chance(0.25)) {
    const wire = wireOf(partsOf(harmless(world, dice), world, dice))
    return { attack: 'head respelled', wire: dice.pick(HARMLESS)(wire, dice), expected: 'success' }
  }
  // The large body comes seldom: it costs more than all others.
  const change = dice.pick(dice.chance(0.98) ? HARMFUL.slice(0, -1) : HARMFUL)
  const wire = change(wireOf(partsOf(wouldBeStored(world, dice), world, dice)), dice)
  return { attack: 'head changed', wire, expected: 'refusal', odd_head: true }
}

function plus(wire: Wire, ...more: readonly Header[]): Wire {
  return { ...wire, headers: [...wire.headers, ...more] }
}

function without(wire: Wire, name: string): Wire {
  const headers = wire.headers.filter(([sent]) => sent.toLowerCase() !== name)
  return headers.length < wire.headers.length ? { ...wire, headers } : without(wire, 'x-data-application-id')
}

/** The headers whose value matters. On v1 nobody has signed the pair: another one may be just as good. */
function believed({ headers, target }: Wire): readonly string[] {
  const names = headers.map(([name]) => name.toLowerCase())
  return target === METHOD_PATHS.v1 ? names.filter((name) => !/timestamp|nonce/.test(name)) : names
}

/** A header that must come once comes again, with the same value or another, however its name is spelled. */
function twice(wire: Wire, dice: Dice): Wire {
  const [name, value] = dice.pick(wire.headers)
  const again: Header = [dice.chance(0.5) ? name : name.toUpperCase(), dice.chance(0.5) ? value : dice.hex(4)]
  return dice.chance(0.5) ? plus(wire, again) : { ...wire, headers: [again, ...wire.headers] }
}

function respelled(wire: Wire, _dice: Dice, spell: (name: string) => string): Wire {
  return { ...wire, headers: wire.headers.map(([name, value]): Header => [spell(name), value]) }
}

/** None of these is the value that was there, also when the white space around it is taken away. */
function oddValue(value: string, dice: Dice): string {
  const at = 1 + dice.integer(value.length - 1)
  const inserted = dice.pick([
    '\u0000',
    '\u0001',
    '\u007f',
    '\u00e9',
    '\u00ff',
    ' ',
    ',',
    '0',
    '\r',
    '\u000b',
  ])
  return dice.pick([
    () => '',
    () => value.slice(0, at) + inserted + value.slice(at),
    () => `${value},${value}`,
    () => value + value,
    () => `0${value}`,
    () => `"${value}"`,
    () => 'x'.repeat(8_000),
    () => '9'.repeat(17),
    () => value.slice(0, -1),
  ])()
}

function oddTarget(target: string, dice: Dice): string {
  return dice.pick([
    () => `${target}/`,
    () => `/${target}`,
    () => target.toUpperCase(),
    () => target.replace('api', '%61pi'),
    () => `${target};a=b`,
    () => `${target}#x`,
    () => `/x/..${target}`,
    () => target.replace('/api/', '//api/'),
    () => `http://127.0.0.1${target}`,
    () => '/',
    () => '/healthz',
    () => '/metrics',
    () => resendPath(''),
    () => resendPath('%2e%2e'),
    () => resendPath('x'.repeat(3_000)),
    () => `/${'a/'.repeat(200)}`,
    () => '/%ff%00',
  ])()
}
