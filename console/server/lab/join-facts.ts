/** readJoinFacts: bootstrap tokens without their secrets, and certificate requests, as far as the viewer may read them. */
import { labelKey } from '../../../components/api/dialect.ts'
import type { CertificateSigningRequest, Secret } from '../../../components/api/generated/types.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { Client } from '../../../components/client/client.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'
import { isStatusError } from '../../../components/machinery/objects/status-error.ts'
import type { JoinFacts } from '../../protocol/lab.ts'
import { slimCsr } from '../../slim/slim-csr.ts'
import { slimToken } from '../../slim/slim-token.ts'

const mostRead = 500

/** Throws StatusErrors other than those of missing rights, and ConnectionErrors. */
export async function readJoinFacts(client: Client): Promise<JoinFacts> {
  const { dialect } = client
  const { secrets, certificateSigningRequests } = resourcesOf(dialect)
  const notRead: string[] = []
  const list = async <T extends KubeObject>(
    resource: Resource,
    options: { readonly namespace?: string; readonly fieldSelector?: string } = {},
  ): Promise<readonly T[]> => {
    try {
      const { items } = await client
        .resource<T & object>(resource)
        .list({ ...options, limit: mostRead })
      return items
    } catch (error) {
      if (!isStatusError(error, 'Forbidden')) throw error
      notRead.push(error.message)
      return []
    }
  }
  const fieldSelector = `type=${labelKey(dialect, 'bootstrap', 'token')}`
  const [tokens, csrs] = await Promise.all([
    list<Secret>(secrets, { namespace: dialect.systemNamespace, fieldSelector }),
    list<CertificateSigningRequest>(certificateSigningRequests),
  ])
  return { tokens: tokens.map(slimToken), csrs: csrs.map(slimCsr), notRead }
}
