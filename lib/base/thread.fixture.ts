import { serveThread } from './thread.ts'

/** What the thread of the tests does. */
export type ThreadCall =
  | { readonly does: 'measure'; readonly bytes: Uint8Array }
  | { readonly does: 'work'; readonly processor_ms: number }
  | { readonly does: 'read the environment' }
  | { readonly does: 'hang' | 'throw' | 'exit' | 'use up the heap' }

serveThread((call: ThreadCall): string => {
  if (call.does === 'measure') return `${call.bytes.length} bytes`
  if (call.does === 'read the environment') return Object.keys(process.env).join()
  if (call.does === 'work') return workFor(call.processor_ms)
  if (call.does === 'throw') throw new TypeError('not a file')
  if (call.does === 'exit') process.exit(0)
  const kept: object[] = []
  for (;;) if (call.does === 'use up the heap') kept.push(Array.from({ length: 1_000 }, () => ({})))
})

/** Uses processor time, as this thread counts it. */
function workFor(processor_ms: number): string {
  const begin = process.threadCpuUsage()
  for (;;) {
    const { user, system } = process.threadCpuUsage(begin)
    if (user + system >= processor_ms * 1_000) return 'done'
  }
}
