import type { ConnectorDefinition } from './connector.ts'
import { formConnector } from './form/form-connector.ts'
import { httpConnector, sandboxConnector } from './http/http-connector.ts'

/** All connectors, by the name that routes and accounts give. A new one is a folder and a line here. */
export const CONNECTORS: Readonly<Record<string, ConnectorDefinition>> = {
  sandbox: sandboxConnector,
  http: httpConnector,
  form: formConnector,
}
