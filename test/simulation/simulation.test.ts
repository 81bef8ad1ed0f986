import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'

/** Runs the simulation in a process of its own, because it replaces the clock and the randomness of its process. */
async function simulate(...parameters: readonly string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...parameters], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const [code] = await once(child, 'close')
  return { code, output }
}

test('20 seeds pass, and each has the same trace when it runs again', async () => {
  const { code, output } = await simulate('--from', '1', '--seeds', '20', '--twice')
  expect(output).toContain('20 seeds, 0 failed')
  expect(code).toBe(0)
}, 900_000)
