/** NamespaceExists: rejects every write in a namespace that does not exist (upstream: plugin/pkg/admission/namespace/exists). */
import type { Dialect } from '../../api/dialect.ts'
import { resourcesOf } from '../../api/resources.ts'
import { notFound } from '../../machinery/objects/status-error.ts'
import { findNewest } from '../watch-cache/find-newest.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AdmissionPlugin } from './admission.ts'

export function namespaceExists(reader: ObjectReader, dialect: Dialect): AdmissionPlugin {
  const { namespaces } = resourcesOf(dialect)
  return {
    name: 'NamespaceExists',
    async validate({ operation, resource, namespace }) {
      if (operation === 'CONNECT' || namespace === '' || resource === namespaces) return
      const found = await findNewest(reader, namespaces, { name: namespace })
      if (found === undefined) throw notFound(namespaces, namespace)
    },
  }
}
