import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt'
import { type ReactNode, useState } from 'react'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { addressOf } from '../../values/addresses.ts'
import { isOldSecret } from '../../values/readiness.ts'
import { nowMs } from '../call/machine.ts'
import { useRpc } from '../call/use-rpc.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { RowList } from '../parts/row-list.tsx'
import { Id, Text } from '../parts/text.tsx'
import { useTitle } from '../parts/title.ts'
import { Age, State, Time } from '../parts/values.tsx'

/** The oldest of each kind are shown. */
const ITEMS_MAX = 100
const EVERY_MS = 10_000

interface Secret {
  readonly kind: 'credential' | 'endpoint'
  readonly id: string
  /** What it is for. */
  readonly name: string
  readonly merchantId: string
  readonly environment: Environment
  readonly issued: Timestamp | undefined
}

/** The secrets of credentials and endpoints, the oldest first. They are replaced on the page of their merchant. */
export function SecretsPage(): ReactNode {
  useTitle('Secrets')
  const [opened] = useState(() => timestampFromMs(nowMs()))
  const request = { secretCreatedTo: opened, pageSize: ITEMS_MAX }
  const credentials = useRpc(CredentialService.method.listCredentials, request, { every_ms: EVERY_MS })
  const endpoints = useRpc(EndpointService.method.listEndpoints, request, { every_ms: EVERY_MS })
  const error = credentials.error ?? endpoints.error
  const is_read = credentials.data !== undefined && endpoints.data !== undefined
  const of_credentials = credentials.data?.credentials.map(
    ({ applicationId: id, merchantId, environment, secretCreateTime: issued }): Secret => ({
      kind: 'credential',
      id,
      name: '',
      merchantId,
      environment,
      issued,
    }),
  )
  const of_endpoints = endpoints.data?.endpoints.map(
    ({ endpointId: id, url: name, merchantId, environment, secretCreateTime: issued }): Secret => ({
      kind: 'endpoint',
      id,
      name,
      merchantId,
      environment,
      issued,
    }),
  )
  const secrets = [...(of_credentials ?? []), ...(of_endpoints ?? [])].sort((a, b) =>
    Number((a.issued?.seconds ?? 0n) - (b.issued?.seconds ?? 0n)),
  )
  return (
    <>
      <h1>Secrets</h1>
      <p className="quiet">
        Which secrets of credentials and endpoints are due for a replacement, the oldest first. Those older
        than a year are marked.
      </p>
      {error !== null && <ProblemNote error={error} />}
      {error === null && !is_read && <p className="quiet">Reading…</p>}
      {is_read && secrets.length === 0 && <p>There is no secret yet.</p>}
      {secrets.length > 0 && <SecretList secrets={secrets} />}
      {[credentials.data, endpoints.data].some((data) => data !== undefined && data.nextPageToken !== '') && (
        <p>There are more: only the {ITEMS_MAX} oldest of each kind are shown.</p>
      )}
    </>
  )
}

function SecretList({ secrets }: { readonly secrets: readonly Secret[] }): ReactNode {
  return (
    <RowList
      label="Secrets"
      heads={['Kind', 'Id', 'For', 'Merchant', 'Environment', 'Since', 'Age']}
      rows={secrets.map(({ kind, id, name, merchantId, environment, issued }) => ({
        key: `${kind} ${id}`,
        address: addressOf('merchant', merchantId),
        cells: [
          kind,
          <Id key="id">{id}</Id>,
          <Text key="name">{name}</Text>,
          <Id key="merchant" kind="merchant">
            {merchantId}
          </Id>,
          environment === Environment.PRODUCTION ? 'production' : 'test',
          <Time key="since">{issued}</Time>,
          isOldSecret(issued, nowMs()) ? (
            <span key="age">
              <State word="urgent" /> <Age>{issued}</Age>
            </span>
          ) : (
            <Age key="age">{issued}</Age>
          ),
        ],
      }))}
    />
  )
}
