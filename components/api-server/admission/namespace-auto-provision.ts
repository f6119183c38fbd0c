/**
 * NamespaceAutoProvision: creates the namespace of a new object if it does not exist (upstream:
 * plugin/pkg/admission/namespace/autoprovision).
 */
import type { Dialect } from '../../api/dialect.ts'
import { resourcesOf } from '../../api/resources.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { admissionForbidden } from './forbid.ts'
import type { OwnClient } from './own-client.ts'

export function namespaceAutoProvision(options: {
  readonly reader: ObjectReader
  readonly dialect: Dialect
  readonly client: OwnClient
}): AdmissionPlugin {
  const { reader, dialect, client } = options
  const { namespaces } = resourcesOf(dialect)

  async function provision(request: AdmissionRequest): Promise<void> {
    try {
      await client.create(namespaces, '', { metadata: { name: request.namespace } })
    } catch (error) {
      if (isStatusError(error, 'AlreadyExists')) return
      throw admissionForbidden(request, (error as Error).message)
    }
  }

  return {
    name: 'NamespaceAutoProvision',
    mutate(request) {
      const { operation, resource, namespace, dryRun } = request
      if (operation !== 'CREATE' || dryRun || namespace === '' || resource === namespaces) return
      if (reader.get(namespaces, '', namespace) === undefined) return provision(request)
    },
  }
}
