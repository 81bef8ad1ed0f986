import { useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { useRpc } from '../call/use-rpc.ts'
import { useRights } from '../parts/principal.tsx'
import { PageLink, Text } from '../parts/text.tsx'

/** How many merchants are offered; the page of any other one leads to its lists too. */
const MERCHANTS_MAX = 20

/** Links to a list that needs a merchant and perhaps an environment: of the own merchant, or of the first merchants. */
export function MerchantChoices({
  path,
  has_environment = false,
}: {
  readonly path: string
  readonly has_environment?: boolean
}): ReactNode {
  const { is_merchant } = useRights()
  const { q = '' }: { readonly q?: string } = useSearch({ strict: false })
  const { data } = useRpc(
    MerchantService.method.listMerchants,
    { pageSize: MERCHANTS_MAX },
    { every_ms: 0, enabled: !is_merchant },
  )
  const linkTo = (filters: string, words: string): ReactNode => (
    <PageLink key={words} to={{ path, search: { q: filters.trim() } }}>
      <Text>{words}</Text>
    </PageLink>
  )
  if (is_merchant)
    return (
      <span className="choices">{['test', 'production'].map((env) => linkTo(`${q} env:${env}`, env))}</span>
    )
  return (
    <span className="choices">
      {data?.merchants.flatMap(({ merchantId, name, environments }) =>
        has_environment
          ? environments.map((environment) => {
              const env = environment === Environment.PRODUCTION ? 'production' : 'test'
              return linkTo(`merchant:${merchantId} env:${env}`, `${name} ${env}`)
            })
          : [linkTo(`${q} merchant:${merchantId}`, name)],
      )}
    </span>
  )
}
