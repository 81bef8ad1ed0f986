import { expect, test } from '@jest/globals'
import { Validator } from '@seriousme/openapi-schema-validator'
import { ERROR_TABLE } from '#lib/contract/errors/error-table.ts'
import { RESEND_METHOD } from '#lib/contract/methods.ts'
import type { JsonSchema } from '#lib/contract/view.ts'
import { strictViolationsOf, violationsOf } from '../../test/support/openapi.ts'
import { PUBLIC_METHODS } from '../methods/public-methods.ts'
import { COMMON_REFUSALS } from '../methods/refusals.ts'
import { webhookResend } from '../methods/webhook-resend.ts'
import { resendPath, V1_PATH } from '../paths.ts'
import { methodSchemas, openApiDocument, operationPath } from './document.ts'
import { componentName, failureName, failuresOf } from './envelope-schemas.ts'
import { RECORDED } from './recorded.ts'
import { callbackName } from './webhooks.ts'

const document = openApiDocument('v1')

const schema = (name: string): string => `#/components/schemas/${name}`

/** The failures of a method with an HTTP status; without a method, the failures that all methods have in common. */
const failureOf = (status: number, name?: string): string => {
  const method = PUBLIC_METHODS.find((candidate) => candidate.name === (name ?? 'gateway.ping'))
  if (method === undefined) throw new TypeError(`there is no method ${name}`)
  return failureName(failuresOf(method), status)
}

test.each(['v1', 'v2'] as const)('%s is an OpenAPI 3.1 document by a public validator', async (version) => {
  const validator = new Validator()
  expect(await validator.validate({ ...openApiDocument(version) })).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
})

test('every method has an operation of its own, and no path of it is the bare one', () => {
  const { paths, webhooks } = JSON.parse(JSON.stringify(document))
  const operations = [...Object.values<object>(paths), ...Object.values<object>(webhooks)].flatMap(
    (path) => Object.values(path) as { operationId: string; tags: string[] }[],
  )
  const ids = operations.map(({ operationId }) => operationId)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toEqual(expect.arrayContaining(['paymentIn', 'ticketCommentsList', 'webhookResend']))
  expect(operations.flatMap(({ tags }) => tags)).not.toContain(undefined)
  expect(Object.keys(paths).filter((path) => path.includes('#'))).toHaveLength(29)
  expect(paths['/public/api/multihub/v1']).toBeUndefined()
})

test('every recorded example is as the schemas describe it, and nothing has no example', () => {
  for (const { name } of PUBLIC_METHODS) {
    const { request, response } = RECORDED.exchanges[name] ?? {}
    expect([name, violationsOf(schema(componentName(name, 'Request')))(request)]).toEqual([name, []])
    expect([name, strictViolationsOf(schema(componentName(name, 'Response')))(response)]).toEqual([name, []])
  }
  for (const { http_status, method, body } of RECORDED.errors)
    expect([body, strictViolationsOf(schema(failureOf(http_status, method)))(body)]).toEqual([body, []])
  const { webhooks } = JSON.parse(JSON.stringify(document))
  for (const event of Object.keys(webhooks)) {
    const body = RECORDED.callbacks[event]
    const [resource = ''] = event.split('.')
    expect([event, strictViolationsOf(schema(callbackName(resource)))(body)]).toEqual([event, []])
  }
})

test('every schema of the committed document is valid and its references resolve', () => {
  const { schemas } = document['components'] as { schemas: object }
  for (const name of Object.keys(schemas)) expect(() => strictViolationsOf(schema(name))).not.toThrow()
})

/** The patterns of a document, wherever they are. */
function patternsIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  const { pattern } = value as { pattern?: unknown }
  const own = typeof pattern === 'string' ? [pattern] : []
  return [...own, ...Object.values(value).flatMap(patternsIn)]
}

test('patterns use only what JavaScript, Python, Go and Java have in common', () => {
  const patterns = patternsIn(JSON.parse(JSON.stringify(document)))
  expect(patterns.length).toBeGreaterThan(10)
  for (const pattern of new Set(patterns)) {
    const without_escapes = pattern.replaceAll(/\\(?:x[0-9a-f]{2}|[.[\]\\/-])/g, 'x')
    // Other escapes, look-around, named groups and flags, possessive quantifiers.
    expect(without_escapes).not.toMatch(/\\|\(\?(?!:)|[*+?}][+]/)
    // What Java or Python take for set operations.
    for (const [, content = ''] of without_escapes.matchAll(/\[([^\]]*)\]/g))
      expect(content).not.toMatch(/\[|&&|--|~~|\|\|/)
  }
})

test('the example of every method is a request that the method accepts', () => {
  for (const { name, example } of PUBLIC_METHODS) {
    expect(violationsOf(schema(componentName(name, 'Request')))(example)).toEqual([])
  }
})

test('two methods cannot have different schemas under one name', () => {
  const shared = { Shared: { type: 'string' } }
  const first = { ...webhookResend, result_components: shared }
  const second = { ...webhookResend, name: 'ticket.get' as const, result: {} }
  expect(methodSchemas([first, { ...second, result_components: shared }])).toMatchObject(shared)
  expect(() =>
    methodSchemas([first, { ...second, result_components: { Shared: { type: 'string' } } }]),
  ).toThrow('Shared')
})

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly headers: Readonly<Record<string, JsonSchema>> }>
  >
}

test('promises a request id with every status but 503, which may have neither that nor a body', () => {
  const { paths, components } = JSON.parse(JSON.stringify(document))
  for (const path of Object.keys(paths)) {
    const [operation = { responses: {} }] = Object.values<Operation>(paths[path])
    const { responses } = operation
    const promised = Object.keys(responses).filter((status) => {
      const header = String(responses[status]?.headers['X-Request-ID']?.['$ref'])
      return components.headers[header.split('/').at(-1) ?? ''].required === true
    })
    expect(promised).toEqual(Object.keys(responses).filter((status) => status !== '503'))
    expect(responses['503']?.description).toMatch(/neither a body nor/)
  }
})

test('lists for each method its own codes and the common ones, under their HTTP status, and no code twice', () => {
  const { paths } = JSON.parse(JSON.stringify(document))
  const common = new Set([...COMMON_REFUSALS.values()].flat())
  for (const method of PUBLIC_METHODS) {
    const { name, refusals } = method
    expect([name, refusals.filter((code) => common.has(code))]).toEqual([name, []])
    expect(new Set(refusals).size).toBe(refusals.length)
    const statuses = [...COMMON_REFUSALS.keys(), ...refusals.map((code) => ERROR_TABLE[code].http)]
    const path = name === RESEND_METHOD ? resendPath('{paymentId}') : operationPath(V1_PATH, name)
    const listed = Object.keys(paths[path].post.responses)
    expect([name, listed]).toEqual([name, ['200', ...[...new Set(statuses)].sort().map(String)]])
  }
  const deposit = PUBLIC_METHODS.find(({ name }) => name === 'payment.in')
  expect(deposit?.refusals).not.toContain(6004)
})

const failure = (code: number, details: unknown, context: unknown = null): object => ({
  success: false,
  result: null,
  error: { code, message: 'a message', details, context },
  request_id: '0199c0de-0000-7000-8000-000000000001',
  processing_time: 0.125,
})

const TICKET = { identifiers: { c_id: 't-1', h_id: '0199c0de-0000-7000-8000-000000000001' }, status: 'open' }

test.each<[string, string, number, object, boolean]>([
  ['1005 with a path', 'gateway.ping', 400, failure(1005, { description: 'body' }), true],
  ['1005 without a path', 'gateway.ping', 400, failure(1005, null), false],
  [
    '9000 with more than a path',
    'gateway.ping',
    400,
    failure(9000, { description: 'a', secret: 'b' }),
    false,
  ],
  [
    '6009 with the existing payment',
    'payment.out',
    400,
    failure(6009, null, { h_id: '1', status: 'success' }),
    true,
  ],
  ['6009 for a credential that may not read it', 'payment.out', 400, failure(6009, null), true],
  ['another code with any context', 'payment.out', 400, failure(6004, null, { anything: 1 }), true],
  ['a code of another status', 'gateway.ping', 400, failure(3008, null), false],
  ['a code of another method', 'payment.in', 400, failure(6004, null), false],
  ['10002 with the ticket', 'ticket.create', 409, failure(10002, TICKET), true],
  ['10002 without the ticket', 'ticket.create', 409, failure(10002, null), false],
  ['an unknown code', 'gateway.ping', 400, failure(1, null), false],
  ['a success with this status', 'gateway.ping', 400, { ...failure(2001, null), success: true }, false],
  ['a complete limit refusal', 'gateway.ping', 429, failure(3009, limitDetails('daily')), true],
  ['an incomplete limit refusal', 'gateway.ping', 429, failure(1000, { bucket: 'payment.in' }), false],
])('describes %s: %s with HTTP %p', (_what, method, status, body, fits) => {
  expect(strictViolationsOf(schema(failureOf(status, method)))(body).length === 0).toBe(fits)
})

function limitDetails(bucket: string): object {
  return { bucket, limit: 10, window_seconds: 86_400, retry_after_seconds: 3 }
}
