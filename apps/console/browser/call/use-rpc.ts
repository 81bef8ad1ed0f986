import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
  toJsonString,
} from '@bufbuild/protobuf'
import {
  keepPreviousData,
  QueryCache,
  QueryClient,
  type UseQueryResult,
  useQueries,
  useQuery,
} from '@tanstack/react-query'
import { isAway, isSignedOut } from '../../values/problem.ts'
import { callRpc } from './call-rpc.ts'
import { readSession, type SessionState } from './session.ts'

/** How often what a person looks at is read again; never while the page is hidden. */
export const POLL_MS = 2_000

const SESSION = ['session']
const TRIES_MAX = 3

/** Everything that was read. It is emptied when the session ends. */
export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: (error) => isSignedOut(error) && forgetSession() }),
  defaultOptions: {
    queries: {
      networkMode: 'always',
      structuralSharing: false,
      retry: (failures, error) => failures < TRIES_MAX && isAway(error),
    },
    mutations: { networkMode: 'always' },
  },
})

/** Whether this browser is signed in. */
export function useSession(): UseQueryResult<SessionState> {
  return useQuery({
    queryKey: SESSION,
    queryFn: readSession,
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: ({ state }) => (isAway(state.error) ? POLL_MS : false),
  })
}

/** Reads again if this browser is signed in. */
export function refreshSession(): Promise<void> {
  return queries.invalidateQueries({ queryKey: SESSION })
}

/** Reads again what the page shows, after an act. What the browser knows of its session does not follow from an act. */
export function refreshPage(): Promise<void> {
  return queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] })
}

/** Forgets what the ended session has read. */
export function forgetSession(): void {
  const oidc = queries.getQueryData<SessionState>(SESSION)?.oidc ?? false
  queries.setQueryData<SessionState>(SESSION, { signed_in: false, oidc })
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] })
}

/** How a call is repeated. */
interface ReadOptions {
  readonly every_ms?: number
  readonly enabled?: boolean
  /** Whether it is called once, and again neither after some time nor when the page has the focus again. */
  readonly is_once?: boolean
  /** Whether the answer to the previous request is shown until this one is answered. */
  readonly keeps_previous?: boolean
}

/** The answer of an RPC that changes nothing, read again regularly while the page is visible. */
export function useRpc<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  { every_ms = POLL_MS, enabled = true, is_once = false, keeps_previous = false }: ReadOptions = {},
): UseQueryResult<MessageShape<O>> {
  return useQuery<MessageShape<O>>({
    queryKey: keyOf(method, request),
    queryFn: ({ signal }) => callRpc(method, request, { signal }),
    // What failed is not asked again and again: a person who has read the refusal does that.
    refetchInterval: ({ state }) =>
      !is_once && (state.error === null || isAway(state.error)) ? every_ms : false,
    enabled,
    ...(is_once && { staleTime: 'static' as const, refetchOnWindowFocus: false, refetchOnReconnect: false }),
    ...(keeps_previous && { placeholderData: keepPreviousData }),
  })
}

/** How long what hardly changes, such as a route, is not read again. */
const SLOW_MS = 60_000

/** The answers of an RPC to several requests about what hardly changes, in their order; `undefined` where there is none yet. */
export function useRpcs<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  requests: readonly MessageInitShape<I>[],
  /** What is permanent is read once. */
  { is_permanent = false }: { readonly is_permanent?: boolean } = {},
): readonly (MessageShape<O> | undefined)[] {
  return useQueries({
    queries: requests.map((request) => ({
      queryKey: keyOf(method, request),
      queryFn: ({ signal }: { readonly signal: AbortSignal }) => callRpc(method, request, { signal }),
      staleTime: is_permanent ? Number.POSITIVE_INFINITY : SLOW_MS,
      refetchInterval: is_permanent ? (false as const) : SLOW_MS,
    })),
    combine: (results) => results.map(({ data }) => data),
  })
}

/** What identifies the answer to a request. */
export function keyOf<I extends DescMessage>(
  { parent, name, input }: DescMethodUnary<I>,
  request: MessageInitShape<I>,
): readonly string[] {
  return [`${parent.typeName}/${name}`, toJsonString(input, create(input, request))]
}
