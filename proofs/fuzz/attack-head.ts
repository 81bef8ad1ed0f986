import { resendPath } from '../../gateway/paths.ts'
import { type Attempt, signRequest, unsignedRequestOf, withHeader } from './attempt.ts'
import type { Choices } from './choices.ts'
import type { Header, RawRequest } from './raw-http.ts'
import { acceptableDeposit, repeatableRequest } from './requests.ts'
import { METHOD_PATHS } from './signing.ts'
import type { FuzzSystem } from './system.ts'

type Change = (request: RawRequest, choices: Choices) => RawRequest

/** Changes of the head without a meaning. The request must succeed. */
const HARMLESS: readonly Change[] = [
  (request, choices) => withHeaderNames(request, choices, (name) => name.toLowerCase()),
  (request, choices) => withHeaderNames(request, choices, (name) => name.toUpperCase()),
  (request) => ({
    ...request,
    headers: request.headers.map(([name, value]): Header => [name, `\t ${value} \t`]),
  }),
  (request) => ({ ...request, headers: request.headers.toReversed() }),
  (request) => withHeader(request, 'content-type', () => 'application/json; charset=utf-8'),
  (request) => withHeader(request, 'content-type', () => 'Application/JSON;charset="UTF-8"'),
  (request, choices) => ({ ...request, chunk_bytes: 1 + choices.integer(40) }),
  (request) => withMoreHeaders(request, ['Expect', '100-continue']),
  (request, choices) =>
    withMoreHeaders(request, ['X-Request-ID', choices.pick(['mine', 'é', 'x'.repeat(500), '{"a":1}'])]),
  (request, choices) =>
    withMoreHeaders(request, [
      'X-Forwarded-For',
      choices.pick(['203.0.113.7', '::1, 10.0.0.1', 'not-an-address', ',']),
    ]),
  (request) => withMoreHeaders(request, ['Connection', 'close']),
  (request, choices) => ({
    ...request,
    target: `${choices.pick(['http://127.0.0.1', 'HTTPS://user@merchant.example:1', 'http://[::1]'])}${request.target}`,
  }),
  (request) =>
    withMoreHeaders(request, ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01']),
  (request) =>
    withMoreHeaders(request, ['Cookie', 'a=b; __proto__=c'], ['__proto__', 'x'], ['constructor', 'y']),
  (request) =>
    withMoreHeaders(
      request,
      ['Accept-Encoding', 'gzip'],
      ['Accept', 'text/html'],
      ['X-HTTP-Method-Override', 'GET'],
    ),
]

/** Changes that make the head different or invalid. */
const HARMFUL: readonly Change[] = [
  (request, choices) =>
    withoutHeader(
      request,
      choices.pick(['content-type', 'x-data-application-id', 'x-data-hash', 'x-data-signature']),
    ),
  repeatHeader,
  (request, choices) =>
    withHeader(request, choices.pick(checkedHeaders(request)), (value) => changedValue(value, choices)),
  (request, choices) => ({
    ...request,
    verb: choices.pick([
      'GET',
      'PUT',
      'DELETE',
      'PATCH',
      'OPTIONS',
      'TRACE',
      'PROPFIND',
      'SEARCH',
      'M-SEARCH',
    ]),
  }),
  (request, choices) => ({ ...request, target: changedTarget(request.target, choices) }),
  (request, choices) =>
    withHeader(request, 'content-type', () =>
      choices.pick([
        'text/plain',
        'application/jsonx',
        'application/json; charset=latin1',
        '',
        'a/b; c=d',
        'json',
      ]),
    ),
  (request, choices) =>
    withMoreHeaders(request, ['Content-Encoding', choices.pick(['gzip', 'identity', 'br', ''])]),
  (request, choices) => ({
    ...request,
    target: `${request.target}?${choices.pick(['', 'a=b', '__proto__=1', '%00'])}`,
  }),
  (request, choices) =>
    withMoreHeaders(request, ...Array.from({ length: 120 }, (_, at): Header => [`X-${at}`, choices.hex(4)])),
  (request, choices) => withMoreHeaders(request, ['X-Long', 'x'.repeat(choices.pick([17_000, 70_000]))]),
  (request) => ({ ...request, body: Buffer.alloc(1024 * 1024 + 1, ' ') }),
]

/** Changes headers, verb, target or framing of a correctly signed request. */
export function attackHead(system: FuzzSystem, choices: Choices): Attempt {
  if (choices.chance(0.25)) {
    const request = signRequest(unsignedRequestOf(repeatableRequest(system, choices), system, choices))
    return {
      attack: 'head respelled',
      request: choices.pick(HARMLESS)(request, choices),
      expected: 'success',
    }
  }
  // The large body is rare, because it takes more time than all others.
  const change = choices.pick(choices.chance(0.98) ? HARMFUL.slice(0, -1) : HARMFUL)
  const request = change(
    signRequest(unsignedRequestOf(acceptableDeposit(system, choices), system, choices)),
    choices,
  )
  return {
    attack: 'head changed',
    request: request,
    expected: 'refusal',
    may_fail_before_authentication: true,
  }
}

function withMoreHeaders(request: RawRequest, ...more: readonly Header[]): RawRequest {
  return { ...request, headers: [...request.headers, ...more] }
}

function withoutHeader(request: RawRequest, name: string): RawRequest {
  const headers = request.headers.filter(([sent]) => sent.toLowerCase() !== name)
  return headers.length < request.headers.length
    ? { ...request, headers }
    : withoutHeader(request, 'x-data-application-id')
}

/** The headers whose value is checked. On v1 the replay pair is not signed, so another one can be valid too. */
function checkedHeaders({ headers, target }: RawRequest): readonly string[] {
  const names = headers.map(([name]) => name.toLowerCase())
  return target === METHOD_PATHS.v1 ? names.filter((name) => !/timestamp|nonce/.test(name)) : names
}

/** Repeats a header, with the same value or another, and with the same spelling of its name or another. */
function repeatHeader(request: RawRequest, choices: Choices): RawRequest {
  const [name, value] = choices.pick(request.headers)
  const again: Header = [
    choices.chance(0.5) ? name : name.toUpperCase(),
    choices.chance(0.5) ? value : choices.hex(8),
  ]
  return choices.chance(0.5)
    ? withMoreHeaders(request, again)
    : { ...request, headers: [again, ...request.headers] }
}

function withHeaderNames(request: RawRequest, _dice: Choices, spell: (name: string) => string): RawRequest {
  return { ...request, headers: request.headers.map(([name, value]): Header => [spell(name), value]) }
}

/** Returns another value, also after trimming. */
function changedValue(value: string, choices: Choices): string {
  const at = 1 + choices.integer(value.length - 1)
  const inserted = choices.pick([
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
  return choices.pick([
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

function changedTarget(target: string, choices: Choices): string {
  return choices.pick([
    () => `${target}/`,
    () => `/${target}`,
    () => target.toUpperCase(),
    () => target.replace('api', '%61pi'),
    () => `${target};a=b`,
    () => `${target}#x`,
    () => `/x/..${target}`,
    () => target.replace('/api/', '//api/'),
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
