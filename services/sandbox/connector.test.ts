import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { allowAnyAddress } from '#lib/http/address-policy.ts'
import { createHttpClient } from '#lib/http/client.ts'
import { type ConnectorUnderTest, connectorSuite } from '../../test/suites/connector.suite.ts'
import { httpConnector } from '../payments/connectors/http/http-connector.ts'
import { connectSandbox, startSandbox } from './sandbox.fixture.ts'

connectorSuite('HTTP', httpConnector.capabilities, async (): Promise<ConnectorUnderTest> => {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-sandbox-'))
  // The sandbox ends its silence itself, so that no create depends on a time limit.
  const sandbox = await startSandbox(directory, { MULTIHUB_SANDBOX_SILENCE: '20ms' })
  const http = createHttpClient({ allow: allowAnyAddress })
  return {
    connector: connectSandbox(sandbox, http),
    connectTo: (url) => connectSandbox({ url }, http),
    async stop() {
      await http.close()
      await sandbox.stop()
      await rm(directory, { recursive: true })
    },
  }
})
