import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'
import { ROOT } from '../../scripts/sources/sources.ts'
import { findInstalledProgram } from '../support/needs.ts'

const run = promisify(execFile)
const program = findInstalledProgram('openapi-typescript')
const testWithGenerator = program === undefined ? test.skip : test

const USE = `import type { components, operations, webhooks } from './api.ts'

type Answer = operations['paymentIn']['responses'][200]['content']['application/json']
type PaymentInRequest = operations['paymentIn']['requestBody']['content']['application/json']
type Callback = webhooks['payment.completed']['post']['requestBody']['content']['application/json']

export const wordOf = (answer: Answer): 'created' | 'processing' | 'success' | 'error' | 'canceled' | 'declined' | 'refunded' | 'partially_refunded' =>
  answer.result.payment.status.status
export const idOf = ({ data }: Callback): string => data.result.payment.identifiers.h_id
export const codeOf = (failure: components['schemas']['Failure403']): 3008 => failure.error.code
export const asked: PaymentInRequest = {
  method: 'payment.in',
  service_id: 501,
  params: { payment: { identifiers: { c_id: 'order-1' }, amount: { value: 1, currency: 'INR' }, payer: {} } },
}
// @ts-expect-error A deposit has no receiver.
export const wrong: PaymentInRequest = { ...asked, params: { payment: { ...asked.params.payment, receiver: {} } } }
`

testWithGenerator('types that openapi-typescript makes need no cast, for both versions', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'multihub-types-'))
  try {
    for (const name of ['openapi.json', 'openapi-v2.json']) {
      const api = join(folder, 'api.ts')
      await run(process.execPath, [program ?? '', join(ROOT, 'docs', 'merchants', name), '--output', api])
      await writeFile(join(folder, 'use.ts'), USE)
      const flags = [
        '--noEmit',
        '--ignoreConfig',
        '--strict',
        '--allowImportingTsExtensions',
        '--module',
        'nodenext',
        '--types',
        '',
      ]
      const { stdout } = await run(join(ROOT, 'node_modules', '.bin', 'tsc'), [
        ...flags,
        join(folder, 'use.ts'),
      ]).catch((error) => error)
      expect(stdout).toBe('')
    }
  } finally {
    await rm(folder, { recursive: true })
  }
})
