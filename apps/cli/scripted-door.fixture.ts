import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type RunResult, runHere } from './run-command.fixture.ts'

/** The bytes of an answer, an error of Connect, or `never` for a call that gets no answer. */
export type ScriptedAnswer = Uint8Array | { readonly code: string; readonly message: string } | 'never'

/** A back office whose answers a test chooses. */
export interface ScriptedDoor extends AsyncDisposable {
  readonly url: string
  /** The names of the RPCs that were called, with the bytes of each request. */
  readonly calls: { readonly rpc: string; readonly request: Buffer }[]
  /** Sees what each call is answered with. */
  answer: (rpc: string) => ScriptedAnswer
  run(home: string, ...words: readonly string[]): Promise<RunResult>
}

/** Starts it. */
export async function startScriptedDoor(): Promise<ScriptedDoor> {
  const calls: ScriptedDoor['calls'] = []
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const rpc = request.url?.replace(/^.*\//, '') ?? ''
    calls.push({ rpc, request: Buffer.concat(parts) })
    const answer = door.answer(rpc)
    if (answer === 'never') return
    const is_bytes = answer instanceof Uint8Array
    response.writeHead(is_bytes ? 200 : 400, {
      'content-type': is_bytes ? 'application/proto' : 'application/json',
    })
    response.end(is_bytes ? answer : JSON.stringify(answer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const door: ScriptedDoor = {
    url,
    calls,
    answer: () => 'never',
    run: (home, ...words) =>
      runHere(words, {
        variables: { MULTIHUB_URL: url, MULTIHUB_TOKEN: 'mhp_a', HOME: home },
        directory: home,
      }),
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  return door
}
