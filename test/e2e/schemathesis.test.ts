import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { METHODS, SCOPES, SUPPORT_RESOURCES } from '#lib/contract/methods.ts'
import { findInstalledProgram } from '../support/needs.ts'
import { OPENAPI_DOCUMENT } from '../support/openapi.ts'
import { operatorOf } from '../support/operator.ts'
import { type SystemHere, startHere } from '../support/system.ts'

const program = findInstalledProgram('schemathesis')
const testWithSchemathesis = program === undefined ? test.skip : test

const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
]
const SECONDS = 40
const NO_QUOTAS = Object.fromEntries([...METHODS, 'webhook.resend'].map((name) => [name, 1_000_000]))

let system: SystemHere
beforeAll(async () => {
  if (program !== undefined) system = await startHere({ MULTIHUB_FLOOD_LIMIT: '1000000' })
})
afterAll(() => system?.end())

interface Operation {
  parameters: readonly Readonly<Record<'$ref', string>>[]
  security: readonly object[]
}

/**
 * The reference without what the hook adds: the signature, and no replay pair. A generated signature or timestamp is never
 * right, so nothing else would be tried.
 */
function withoutSignature(): object {
  const document = structuredClone(OPENAPI_DOCUMENT)
  for (const { post } of Object.values<{ post?: Operation }>(document.paths)) {
    if (post === undefined) continue
    post.security = []
    post.parameters = post.parameters.filter((parameter) => !/(?:Timestamp|Nonce)$/.test(parameter['$ref']))
  }
  return document
}

testWithSchemathesis(
  'the gateway answers generated requests as the reference says',
  async () => {
    const { base_url, merchants } = system.demo()
    const operator = operatorOf(system.demo())
    const { credential, secret } = await operator(
      'multihub.merchants.v1.CredentialService/CreateCredential',
      {
        merchantId: merchants[0]?.merchant_id,
        apiVersion: 'API_VERSION_V1',
        environment: 'ENVIRONMENT_TEST',
        scopes: SCOPES,
        supportResources: SUPPORT_RESOURCES,
        rateLimits: NO_QUOTAS,
      },
    )
    const path = join(system.home, 'openapi.json')
    await writeFile(path, JSON.stringify(withoutSignature()))
    const words = [
      'run',
      path,
      '--url',
      base_url,
      '--checks',
      CHECKS.join(','),
      '--phases',
      'examples,coverage,fuzzing',
    ]
    const limits = [
      '--max-examples',
      '10',
      '--max-time',
      String(SECONDS),
      '--no-color',
      '--seed',
      '1',
      '--warnings',
      'off',
    ]
    const env = {
      ...process.env,
      SCHEMATHESIS_HOOKS: 'sign_requests',
      PYTHONPATH: join(import.meta.dirname, '..', 'support'),
      APPLICATION_ID: String(credential.applicationId),
      SECRET: secret,
    }
    const { code, out } = await new Promise<{ code: number; out: string }>((resolve) => {
      execFile(
        program ?? '',
        [...words, ...limits],
        { cwd: system.home, env, maxBuffer: 2 ** 26 },
        (error, stdout, stderr) =>
          resolve({ code: error === null ? 0 : Number(error.code ?? -1), out: stdout + stderr }),
      )
    })
    expect({ code, out: code === 0 ? '' : out.slice(-6_000) }).toEqual({ code: 0, out: '' })
  },
  (SECONDS + 60) * 1_000,
)
