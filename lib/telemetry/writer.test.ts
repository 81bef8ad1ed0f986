import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from '@jest/globals'

const CHILD = new URL('./writer.fixture.ts', import.meta.url).pathname

/** The lines that a process wrote until it ended or wrote its last line. */
async function linesOf(count: number, ending: string): Promise<readonly Record<string, unknown>[]> {
  const child = spawn(process.execPath, [CHILD, String(count), ending], {
    env: { ...process.env, MULTIHUB_LOG_LEVEL: 'info', UV_THREADPOOL_SIZE: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let written = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    written += chunk
    if (written.includes('last line')) child.kill('SIGKILL')
  })
  await once(child, 'close')
  const lines = written.split('\n').filter((line) => line.startsWith('{"level"'))
  return lines.map((line) => JSON.parse(line))
}

test.each([
  ['end', 20_000],
  ['exit', 20_000],
  ['exit while busy', 100],
  ['throw', 20_000],
  ['reject', 20_000],
])('loses no line and keeps their order when the process ends by %s', async (ending, count) => {
  const numbers = (await linesOf(count, ending)).map(({ seq }) => seq)
  expect(numbers).toHaveLength(count)
  expect(numbers.every((seq, at) => seq === at + 1)).toBe(true)
})

test('an error is written at once, after the lines before it', async () => {
  const lines = await linesOf(3, 'error')
  expect(lines.map(({ message }) => message)).toEqual(['a line', 'a line', 'a line', 'the last line'])
})
