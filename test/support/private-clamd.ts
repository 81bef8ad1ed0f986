import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EICAR } from '../../services/attachments/domain/content/samples.fixture.ts'
import { type PrivateServer, spawnServer } from './private-server.ts'

/** A clamd of one test, with a database that knows EICAR only. */
export interface PrivateClamd extends PrivateServer {
  /** For `MULTIHUB_SCANNER`. */
  readonly address: string
}

const CLAMD_CONF = join(import.meta.dirname, '../../deploy/components/scanner/clamd.conf')

/** Longer streams are refused with an error, as with any larger setting. */
export const CLAMD_STREAM_MAX_BYTES = 2 * 1024 * 1024

/** Starts clamd, with the time limit of its scans from the manifests unless `max_scan_ms` is given. */
export async function spawnClamd(program: string, max_scan_ms?: number): Promise<PrivateClamd> {
  const server = await spawnServer(program, {
    name: 'clamd',
    async prepare(folder, port) {
      const config = join(folder, 'clamd.conf')
      await writeFile(join(folder, 'eicar.ndb'), `Eicar-Test-Signature:0:0:${EICAR.toString('hex')}\n`)
      await writeFile(config, await settings(port, folder, max_scan_ms))
      return ['--config-file', config]
    },
    question: 'zPING\0',
    answer: 'PONG',
  })
  return { ...server, address: `clamd://127.0.0.1:${server.port}` }
}

/** The settings of the manifests, with the places and the smaller stream of a test. */
async function settings(port: number, folder: string, max_scan_ms: number | undefined): Promise<string> {
  const lines = (await readFile(CLAMD_CONF, 'utf8'))
    .split('\n')
    .filter((line) => !/^(LocalSocket|TCPSocket|User|StreamMaxLength) /.test(line))
  return [
    ...(max_scan_ms === undefined
      ? lines
      : lines.map((line) => line.replace(/^MaxScanTime .*/, `MaxScanTime ${max_scan_ms}`))),
    'Foreground yes',
    `TCPSocket ${port}`,
    'TCPAddr 127.0.0.1',
    `DatabaseDirectory ${folder}`,
    `StreamMaxLength ${CLAMD_STREAM_MAX_BYTES}`,
    'Bytecode no',
    'MaxThreads 4',
    '',
  ].join('\n')
}
