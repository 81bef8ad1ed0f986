import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { startProcess } from '../support/child.ts'
import { ANY_PORTS } from '../support/free-port.ts'

const ROOT = join(import.meta.dirname, '..', '..')

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'multihub-attack-'))
  const first = await startProcess('scripts/start.ts', [], { MULTIHUB_HOME: home, ...ANY_PORTS })
  await first.stop()
})
afterEach(() => rm(home, { recursive: true, force: true }))

/** Runs `npm start` until it ends or is ready. */
async function startAgain(): Promise<{ output: string; code: number | null }> {
  const child = spawn(process.execPath, [join(ROOT, 'scripts/run.mjs'), 'scripts/start.ts'], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] ?? '', MULTIHUB_HOME: home, MULTIHUB_LOG_LEVEL: 'silent', ...ANY_PORTS },
  })
  let output = ''
  const take = (chunk: Buffer): void => {
    output += chunk.toString()
    if (output.includes('ready ')) child.kill('SIGTERM')
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  const [code] = await once(child, 'exit')
  return { output, code }
}

test('the start fails with a message that names a truncated data file', async () => {
  await truncate(join(home, 'data', 'multihub_payments', 'data.mdb'), 5_000)
  const { output, code } = await startAgain()
  expect(code).toBe(1)
  expect(output).toMatch(/multihub_payments/)
})

test('the start fails with a message when the keys are missing but the data exists', async () => {
  await rm(join(home, 'keys.json'))
  const { output, code } = await startAgain()
  expect(output).not.toMatch(/^ready /m)
  expect(code).toBe(1)
  expect(output).toMatch(/keys\.json/)
})
