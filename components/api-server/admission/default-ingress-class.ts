/** DefaultIngressClass: an Ingress that names no class gets the default one (upstream: plugin/pkg/admission/network/defaultingressclass). */
import { labelKey, type Dialect } from '../../api/dialect.ts'
import type { Ingress } from '../../api/generated/types.ts'
import { newestMarked } from '../../api/default-classes.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AdmissionPlugin } from './admission.ts'

export function defaultIngressClass(reader: ObjectReader, dialect: Dialect): AdmissionPlugin {
  const { ingresses, ingressClasses } = resourcesOf(dialect)
  const oldAnnotation = labelKey(dialect, '', 'ingress.class')
  const mark = labelKey(dialect, 'ingressclass', 'is-default-class')
  return {
    name: 'DefaultIngressClass',
    mutate({ operation, resource, subresource, object }) {
      if (operation !== 'CREATE' || resource !== ingresses || subresource !== '' || !object) return
      const ingress = object as Ingress
      if ((ingress.spec?.ingressClassName ?? undefined) !== undefined) return
      if (ingress.metadata.annotations?.[oldAnnotation] !== undefined) return
      const found = newestMarked(reader.list(ingressClasses), [mark])
      if (found === undefined) return
      ingress.spec = { ...ingress.spec, ingressClassName: found.metadata.name ?? '' }
    },
  }
}
