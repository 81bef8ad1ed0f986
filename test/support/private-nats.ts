import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type PrivateServer, spawnServer } from './private-server.ts'

/** A NATS server that belongs to one test. */
export interface PrivateNats extends PrivateServer {
  readonly url: string
}

/**
 * Starts the `nats-server` at that path, with a folder for its log in `parent_folder`. `server_config` is the text of its
 * configuration file.
 */
export async function spawnNats(
  program: string,
  server_config = '',
  parent_folder?: string,
): Promise<PrivateNats> {
  const server = await spawnServer(
    program,
    {
      name: 'nats-server',
      async prepare(folder, port) {
        const config = join(folder, 'config')
        await writeFile(config, server_config)
        return ['--addr', '127.0.0.1', '--port', String(port), '--config', config]
      },
      question: '',
      answer: 'INFO',
    },
    parent_folder,
  )
  return { ...server, url: `nats://127.0.0.1:${server.port}` }
}
