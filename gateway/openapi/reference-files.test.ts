import { expect, test } from '@jest/globals'
import { OPENAPI_DOCUMENT } from '../../test/support/openapi.ts'
import { createTestGateway, type FixtureOptions, send } from '../gateway.fixture.ts'
import { referenceFiles } from './reference-files.ts'

const request = async (options: FixtureOptions, verb: 'GET' | 'POST' = 'GET') =>
  send(await createTestGateway(options), { path: '/openapi.json', verb })

test('serves the reference without a signature if the settings ask for it', async () => {
  const { status, headers, body } = await request({ files: referenceFiles() })
  expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
  expect(body).toEqual(OPENAPI_DOCUMENT)
  expect(headers).not.toHaveProperty('x-data-hash')
})

test.each<[string, FixtureOptions, 'GET' | 'POST', number]>([
  ['if the settings do not ask for it', {}, 'GET', 1001],
  ['with another verb', { files: referenceFiles() }, 'POST', 1007],
])('does not serve the reference %s', async (_when, options, verb, code) => {
  const { status, body } = await request(options, verb)
  expect([status, body.error?.code]).toEqual([400, code])
})
