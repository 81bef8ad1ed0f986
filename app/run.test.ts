import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from '@jest/globals'
import { every } from '#lib/base/time.ts'
import { listen } from '#lib/http/network.ts'

interface Child {
  readonly process: ChildProcess
  /** Resolves with everything written so far once that contains `text`. */
  until(text: string): Promise<string>
  readonly exited: Promise<{ code: number | null; out: string; err: string }>
}

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

function run(
  scenario: string,
  variables: Record<string, string> = {},
  ipc: 'ipc' | 'ignore' = 'ignore',
): Child {
  const child: ChildProcess = spawn(
    process.execPath,
    [fileURLToPath(new URL('./run.fixture.ts', import.meta.url))],
    {
      env: {
        CHILD_SCENARIO: scenario,
        MULTIHUB_LOG_LEVEL: 'info',
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
        ...variables,
      },
      stdio: ['ignore', 'pipe', 'pipe', ipc],
    },
  )
  children.push(child)
  const { stdout, stderr } = child
  if (stdout === null || stderr === null) throw new Error('the child has no pipes')
  const written = { out: '', err: '' }
  const changed = new Set<() => void>()
  const record = (name: 'out' | 'err') => (chunk: string) => {
    written[name] += chunk
    for (const look of changed) look()
  }
  stdout.setEncoding('utf8').on('data', record('out'))
  stderr.setEncoding('utf8').on('data', record('err'))
  // Not the event `close`: it never comes after a parent has ended the IPC channel.
  const ends = [once(child, 'exit'), once(stdout, 'end'), once(stderr, 'end')] as const
  const exited = Promise.all(ends).then(([[code]]) => ({ code, ...written }))
  const until = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const all = written.out + written.err
        if (!all.includes(text)) return
        changed.delete(look)
        resolve(all)
      }
      changed.add(look)
      look()
      void exited.then(() => reject(new Error(`ended without "${text}": ${written.out}${written.err}`)))
    })
  return { process: child, until, exited }
}

async function urlOf(child: Child): Promise<string> {
  return /^ready http=(\S+)$/m.exec(await child.until('ready '))?.[1] ?? ''
}

// R5
describe('an orderly stop', () => {
  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '%s answers the requests in progress and exits with 0',
    async (signal) => {
      const child = run('serve')
      const url = await urlOf(child)
      const answer = fetch(`${url}/slow`)
      await child.until('got /slow')
      child.process.kill(signal)
      expect(await (await answer).text()).toBe('answered')
      const { code, out, err } = await child.exited
      expect(code).toBe(0)
      expect(out.split('\n')).toEqual([`ready http=${url}`, ''])
      expect(err).toMatch(/"part":"store".*"closed"/)
    },
  )

  test('happens when the launcher ends', async () => {
    const child = run('serve', {}, 'ipc')
    await urlOf(child)
    child.process.disconnect()
    expect((await child.exited).code).toBe(0)
  })

  test.each(['slow_start', 'hanging_start'])(
    'happens also while the start is in progress: %s',
    async (scenario) => {
      const child = run(scenario)
      await child.until(`got ${scenario}`)
      child.process.kill('SIGTERM')
      const { code, out, err } = await child.exited
      expect([code, out]).toEqual([0, ''])
      expect(err).toContain('"closed"')
    },
  )

  test('is cut short by a second signal', async () => {
    const child = run('hang')
    await child.until('ready')
    const again = every(
      50,
      async () => void child.process.kill('SIGTERM'),
      () => {},
    )
    const { code } = await child.exited
    again.cancel()
    expect(code).toBe(1)
  })
})

describe('a failed start prints one sentence and exits with 1', () => {
  test.each([
    [
      'unavailable',
      'cannot start: MongoDB at mongodb://[secret]@127.0.0.1:1 does not answer (MONGODB_URI)\n',
    ],
    ['directory', 'cannot start: a part of the path is not a directory: /dev/null/data\n'],
    ['unforeseen', 'cannot start: TypeError: unforeseen fault\n'],
    [
      'failed_call',
      'cannot start: a call within the system failed with 2001 (Unexpected error): the log lines with "level":"error" say why\n',
    ],
    [
      'config',
      'the configuration is not valid; correct these settings:\n  CHILD_NAME is missing: it must be a text\n' +
        '  CHILD_COUNT is missing: it must be an integer from 1 to 9\n',
    ],
  ])('%s', async (scenario, sentence) => {
    const { code, out, err } = await run(scenario).exited
    expect([code, out, err]).toEqual([1, '', sentence])
  })

  test('a port that is taken, with the variable to set', async () => {
    const other = createServer()
    const { port, close } = await listen(other, { host: '127.0.0.1', port: 0, variable: 'OTHER_PORT' })
    const { code, err } = await run('port_taken', { CHILD_PORT: `${port}` }).exited
    await close()
    expect(code).toBe(1)
    expect(err).toBe(
      `127.0.0.1:${port} is used by another process: set CHILD_PORT to a free port, or to 0 for any free port\n`,
    )
  })

  test('with the stack only when the log level asks for it', async () => {
    const { err } = await run('unforeseen', { MULTIHUB_LOG_LEVEL: 'debug' }).exited
    expect(err).toMatch(/run\.fixture\.ts/)
  })
})

describe('an uncaught fault', () => {
  test.each(['throws', 'rejects'])('is logged with its cause and ends the process: %s', async (scenario) => {
    for (const level of ['info', 'silent']) {
      const { code, err } = await run(scenario, { MULTIHUB_LOG_LEVEL: level }).exited
      expect(code).toBe(1)
      expect(err).toMatch(/"message":"outer".*"cause".*"message":"inner"/)
    }
  })
})
