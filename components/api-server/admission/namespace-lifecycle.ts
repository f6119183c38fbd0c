/**
 * NamespaceLifecycle: rejects creates in a missing or terminating namespace, and deletes of the system's namespaces (upstream:
 * apiserver/pkg/admission/plugin/namespace/lifecycle).
 */
import type { Dialect } from '../../api/dialect.ts'
import { apiGroup } from '../../api/dialect.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { StatusError, notFound } from '../../machinery/objects/status-error.ts'
import { findNewest } from '../watch-cache/find-newest.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { admissionForbidden } from './forbid.ts'

function terminating(request: AdmissionRequest): StatusError {
  const { namespace } = request
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`
  const { message, details } = admissionForbidden(request, why)
  const cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${namespace} is being terminated`,
    field: 'metadata.namespace',
  }
  return new StatusError('Forbidden', message, { details: { ...details, causes: [cause] } })
}

export function namespaceLifecycle(reader: ObjectReader, dialect: Dialect): AdmissionPlugin {
  const { namespaces } = resourcesOf(dialect)
  const immortal = new Set(['default', dialect.systemNamespace, dialect.publicNamespace])
  const authorizationGroup = apiGroup(dialect, 'authorization')

  return {
    name: 'NamespaceLifecycle',
    mutate(request) {
      const { operation, resource, namespace } = request
      if (operation === 'DELETE') return
      if (!resource.namespaced || namespace === '') return
      // Reviews store nothing, so their namespace need not exist.
      if (resource.virtual && resource.group === authorizationGroup) return
      const check = (found: KubeObject | undefined): void => {
        if (found === undefined) throw notFound(namespaces, namespace)
        if (operation === 'CREATE' && found['status']?.phase === 'Terminating') {
          throw terminating(request)
        }
      }
      const found = findNewest(reader, namespaces, { name: namespace })
      return found instanceof Promise ? found.then(check) : check(found)
    },
    validate(request) {
      const { operation, resource, subresource, name } = request
      if (operation !== 'DELETE' || resource !== namespaces || subresource !== '') return
      if (immortal.has(name)) {
        throw admissionForbidden(request, 'this namespace may not be deleted')
      }
    },
  }
}
