import { expect, test } from '@jest/globals'
import { REFERENCE } from '../../test/support/reference.ts'
import { createTestGateway, type FixtureOptions, send } from '../gateway.fixture.ts'

const ask = async (options: FixtureOptions, verb: 'GET' | 'POST' = 'GET') =>
  send(await createTestGateway(options), { path: '/openapi.json', verb })

test('shows the reference to anybody, when it is told to', async () => {
  const { status, headers, body } = await ask({ reference: REFERENCE })
  expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
  expect(body).toEqual(REFERENCE)
  expect(headers).not.toHaveProperty('x-data-hash')
})

test.each<[string, FixtureOptions, 'GET' | 'POST', number]>([
  ['without it', {}, 'GET', 1001],
  ['with another verb', { reference: {} }, 'POST', 1007],
])('answers nothing of the kind %s', async (_when, options, verb, code) => {
  const { status, body } = await ask(options, verb)
  expect([status, body.error?.code]).toEqual([400, code])
})
