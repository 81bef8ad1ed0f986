import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { APPLICATION_ID, SECRET } from '../../gateway/gateway.fixture.ts'
import { V1_PATH, V2_PATH } from '../../gateway/paths.ts'
import { type BenchChild, startChild } from '../child.ts'
import type { LoadOrder, Signature } from '../load/load.ts'

/** One of the two servers that are compared, in a process of its own. */
export interface Side {
  readonly child: BenchChild
  /** `gateway.ping` to it, 64 at once, for 1.5 s. */
  readonly order: LoadOrder
  end(): Promise<void>
}

/** Starts the gateway, or its floor, for requests that are signed in this way. */
export async function startSide(which: 'ours' | 'floor', signature: Signature = 'v1'): Promise<Side> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  const child = await startChild(`./gateway/${which}.child.ts`, {
    BENCH_SIGNATURE: signature,
    BENCH_DIRECTORY: directory,
    NODE_OPTIONS: '--expose-gc',
  })
  return {
    child,
    order: {
      port: Number(child.ready),
      path: signature === 'v2' ? V2_PATH : V1_PATH,
      application_id: APPLICATION_ID,
      secret: SECRET,
      body: JSON.stringify({ method: 'gateway.ping', params: {} }),
      in_flight: 64,
      duration_ms: 1_500,
      signature,
    },
    async end() {
      child.end()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
