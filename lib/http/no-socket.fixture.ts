import { closeSync, openSync } from 'node:fs'
import { createServer } from 'node:http'
import { allowAnyAddress } from './address-policy.ts'
import { createHttpClient } from './client.ts'
import { HttpFailure } from './http-failure.ts'
import { listen } from './network.ts'

// Prints what a request comes to while this process has no file descriptor left, and after it has some again.
const server = createServer((_request, response) => response.end())
const { host_and_port } = await listen(server, { host: '127.0.0.1', port: 0, variable: 'T_PORT' })
const client = createHttpClient({ allow: allowAnyAddress })
const send = async (): Promise<string> => {
  try {
    const { status } = await client.request({
      method: 'GET',
      url: `http://${host_and_port}/`,
      timeout_ms: 30_000,
    })
    return String(status)
  } catch (error) {
    return error instanceof HttpFailure ? `${error.kind} ${error.reason}` : String(error)
  }
}

const open_files: number[] = []
try {
  for (;;) open_files.push(openSync('/dev/null', 'r'))
} catch {
  // None is left.
}
const without = await send()
for (const file of open_files) closeSync(file)
process.stdout.write(`${without}, then ${await send()}\n`)
process.exit(0)
