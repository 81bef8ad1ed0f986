import { OWNED } from '../workload/registrar.ts'
import { documentsOf, type Invariant } from './judge.ts'

/** The fields that the invariant reads of what is registered. */
interface RegistryDocument {
  readonly merchant_id: string
  readonly name?: string
  readonly application_id?: number
  readonly service_id?: number
  readonly endpoint_id?: string
}

/** Each creation of the operator was made once, however often it was sent, under the id of its answers (O12). */
export const creationsHappenOnce: Invariant = function* ({ databases, history }) {
  const registered = new Map<string, string[]>()
  const add = (name: string, id = ''): void =>
    void registered.set(name, [...(registered.get(name) ?? []), id])
  const merchants = documentsOf<RegistryDocument>(databases, 'merchants', 'merchants')
  const by_registrar = new Set<string>()
  for (const { name = '', merchant_id } of merchants) {
    if (!name.startsWith('registered ')) continue
    by_registrar.add(merchant_id)
    add(`merchants ${name}`, merchant_id)
  }
  for (const kind of OWNED)
    for (const { merchant_id, application_id, service_id, endpoint_id } of documentsOf<RegistryDocument>(
      databases,
      'merchants',
      kind,
    ))
      if (by_registrar.has(merchant_id))
        add(`${kind} ${merchant_id}`, String(application_id ?? service_id ?? endpoint_id))
  for (const [name, ids] of registered)
    if (ids.length > 1) yield `${name}: its creation was sent under one operation_id and made ${ids}`
  for (const [name, id] of history.created)
    if (!registered.get(name)?.includes(id))
      yield `${name}: its creation was answered with ${id}, which does not exist`
}
