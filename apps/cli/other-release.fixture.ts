import {
  clone,
  create,
  createFileRegistry,
  type DescFile,
  type DescService,
  fromBinary,
  type Message,
  toBinary,
} from '@bufbuild/protobuf'
import {
  type DescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  type ServiceDescriptorProto,
} from '@bufbuild/protobuf/wkt'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { listen } from '#lib/http/network.ts'
import type { CallerName, ServedMethod } from '#lib/rpc/service.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { OPERATOR_RPCS } from '../../services/backoffice/domain/operator-rpcs.ts'
import { createCallerAddresses } from '../../services/backoffice/door/caller-address.ts'
import { createHttpServer } from '../../services/backoffice/door/http-server.ts'
import { createOperatorEndpoints, type DoorDeps } from '../../services/backoffice/door/operator-endpoints.ts'
import type { TestRoles } from '../../test/support/roles.ts'

/** How the protos of another release differ from the protos of this one. */
export interface OtherRelease {
  readonly release: string
  /** Changes a message or a service of a copy of the protos. */
  readonly change: (protos: {
    message(name: string): DescriptorProto
    service(): ServiceDescriptorProto
  }) => void
  /** Sees each request before its owner gets it, and can refuse it by throwing. */
  readonly check?: (rpc: string, request: Readonly<Record<string, unknown>>) => void
  /** Fills what this release does not know into an answer. */
  readonly fill?: (answer: Message) => void
}

/** The back office of another release, with its real port and steps in front of the owners of this one. */
export interface OtherDoor extends AsyncDisposable {
  readonly url: string
  /** The names of the RPCs that have reached an owner. */
  readonly owner_calls: readonly string[]
}

const PRINCIPAL = {
  principal_id: '0199c0de-0000-7000-8000-000000000001',
  name: 'operator',
  kind: 'person',
  rights: ['admin'],
  status: 'active',
  tokens: [],
  created_at: new Date(0),
  updated_at: new Date(0),
} as const

/** Starts it with one service only. Between it and the owner, bytes cross the releases as they do on the wire. */
export async function startOtherRelease(
  roles: TestRoles,
  service: DescService,
  { release, change, check, fill }: OtherRelease,
): Promise<OtherDoor> {
  const owner_calls: string[] = []
  const owner = roles.client(service, 'backoffice' satisfies CallerName) as unknown as Readonly<
    Record<string, (request: Message) => Promise<Message>>
  >
  const callOwner: DoorDeps['callOwner'] = async (method, request) => {
    const current = service.methods.find(({ name }) => name === method.name)
    if (current === undefined) throw new TypeError(`this release has no ${method.name}`)
    check?.(method.name, request as Readonly<Record<string, unknown>>)
    owner_calls.push(method.name)
    const bytes = toBinary(method.input, request as Message)
    const response = await owner[current.localName]?.(fromBinary(current.input, bytes))
    const answer = fromBinary(method.output, toBinary(current.output, response as Message))
    fill?.(answer)
    return answer
  }
  const other = changedService(service, change)
  const rpcs = OPERATOR_RPCS.flatMap((rpc) => {
    const method = other.methods.find(({ name }) => rpc.method.parent === service && name === rpc.method.name)
    return method === undefined ? [] : [{ ...rpc, method: method as ServedMethod }]
  })
  const addresses = createCallerAddresses([])
  const endpoints = createOperatorEndpoints(
    {
      authenticate: async () => PRINCIPAL,
      addressOf: addresses.addressOf,
      callOwner,
      cursor: testKeys().cursor,
      act: (_call, run) => run(() => ({})),
      refused: async () => {},
      secondPerson: (_call, send) => send(),
      countMerchantAct: () => {},
      streams: { open: () => Promise.reject(new TypeError('the test has no streams')) },
      log: createLog('backoffice'),
    },
    rpcs,
  )
  const app = createHttpServer({ endpoints, paths: [], tls: undefined, release, addresses })
  await app.ready()
  const listening = await listen(app.server, { host: '127.0.0.1', port: 0, variable: 'none' })
  return {
    url: `http://${listening.host_and_port}`,
    owner_calls,
    async [Symbol.asyncDispose]() {
      await listening.close(0)
      await app.close()
    },
  }
}

function changedService(service: DescService, change: OtherRelease['change']): DescService {
  const file = filesOf(service.file).map(({ proto }) => clone(FileDescriptorProtoSchema, proto))
  const find = <T extends { name: string }>(
    kind: string,
    all: (proto: FileDescriptorProto) => readonly T[],
    name: string,
  ): T => {
    const found = file.flatMap(all).find((one) => one.name === name)
    if (found === undefined) throw new TypeError(`there is no ${kind} ${name}`)
    return found
  }
  change({
    message: (name) => find('message', ({ messageType }) => messageType, name),
    service: () => find('service', (proto) => proto.service, service.name),
  })
  const changed = createFileRegistry(create(FileDescriptorSetSchema, { file })).getService(service.typeName)
  if (changed === undefined) throw new TypeError(`there is no ${service.typeName}`)
  return changed
}

/** A file after the files that it imports. */
function filesOf(file: DescFile): readonly DescFile[] {
  return [...new Set([...file.dependencies.flatMap(filesOf), file])]
}
