import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** An error as the runner of a language reports it. */
export interface RunnerError {
  readonly kind: 'refusal' | 'transport' | 'unknown' | 'callback' | 'other'
  readonly message: string
  readonly code?: number
  readonly retry?: string
  readonly reason?: string
  readonly text?: string
  readonly operation_id?: string
}

/** What an act of a runner comes to. */
export interface RunnerAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any part of a result
  readonly result?: any
  readonly error?: RunnerError
}

/** The small program that drives the client of one language: one act per line of its input, one answer per line of its output. */
export interface Runner {
  act(act: object): Promise<RunnerAnswer>
  stop(): Promise<void>
}

/** Starts a runner. */
export function startRunner(
  command: readonly [program: string, ...parameters: string[]],
  {
    folder,
    variables = {},
  }: { readonly folder: string; readonly variables?: Readonly<Record<string, string>> },
): Runner {
  const [program, ...parameters] = command
  const child: ChildProcess = spawn(program, parameters, {
    cwd: folder,
    env: { ...process.env, ...variables },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const waiting: PromiseWithResolvers<RunnerAnswer>[] = []
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()))
  const fail = (): void => {
    for (const one of waiting.splice(0)) one.reject(new Error(`${program} ended without an answer`))
  }
  child.on('error', fail)
  ended.then(fail, fail)
  if (child.stdout !== null)
    createInterface(child.stdout).on('line', (line) => waiting.shift()?.resolve(JSON.parse(line)))
  // The program has ended; its reason is reported already.
  child.stdin?.on('error', () => undefined)
  return {
    act(act) {
      const answer = Promise.withResolvers<RunnerAnswer>()
      waiting.push(answer)
      child.stdin?.write(`${JSON.stringify(act)}\n`)
      return answer.promise
    },
    async stop() {
      child.stdin?.end()
      child.kill()
      await ended
    },
  }
}
