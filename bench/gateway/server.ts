import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { APPLICATION_ID, SECRET } from '../../gateway/gateway.fixture.ts'
import { V1_PATH, V2_PATH } from '../../gateway/paths.ts'
import { type BenchChild, startChild } from '../child-process.ts'
import type { Load, Signature } from '../load/load.ts'

/** The gateway or its baseline, in its own process. */
export interface GatewayServer {
  readonly child: BenchChild
  /** `gateway.ping` requests to this server, 64 at a time, for 1.5 s. */
  readonly load: Load
  stop(): Promise<void>
}

/**
 * Starts the gateway or its baseline, which accepts requests with this kind of signature. The requests of the load use
 * this number of credentials in turn, which only the gateway has; it can leave out the recording of exchanges.
 */
export async function startGateway(
  program: 'gateway' | 'baseline',
  signature: Signature = 'v1',
  credentials = 1,
  records_exchanges = true,
): Promise<GatewayServer> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  const child = await startChild(`./gateway/${program}.child.ts`, {
    BENCH_SIGNATURE: signature,
    BENCH_DIRECTORY: directory,
    BENCH_EXCHANGES: records_exchanges ? 'all' : 'none',
    NODE_OPTIONS: '--expose-gc',
  })
  return {
    child,
    load: {
      port: Number(child.ready),
      path: signature === 'v2' ? V2_PATH : V1_PATH,
      application_id: APPLICATION_ID,
      applications: credentials,
      secret: SECRET,
      body: JSON.stringify({ method: 'gateway.ping', params: {} }),
      concurrency: 64,
      duration_ms: 1_500,
      signature,
    },
    async stop() {
      child.kill()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
