/** AlwaysPullImages: every container pulls its image, so that only pods with its credentials run it (upstream: plugin/pkg/admission/alwayspullimages). */
import type { Dialect } from '../../api/dialect.ts'
import type { Pod, PodSpec } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import { FieldPath } from '../../machinery/validation/field-path.ts'
import { joinedErrors } from '../../machinery/objects/status-error.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { admissionForbidden } from './forbid.ts'

interface Pulled {
  readonly image?: string
  imagePullPolicy?: string
}

const lists = ['initContainers', 'containers', 'ephemeralContainers'] as const

function containersOf(spec: PodSpec | undefined): { readonly at: string; readonly one: Pulled }[] {
  return lists.flatMap((list) =>
    ((spec?.[list] ?? []) as Pulled[]).map((one, i) => ({ at: `spec.${list}[${i}]`, one })),
  )
}

/** Whether an update runs no image that the pod does not run already. */
function addsNoImage({ operation, object, old }: AdmissionRequest): boolean {
  if (operation !== 'UPDATE' || old === undefined) return false
  const before = new Set(containersOf((old as Pod).spec).map(({ one }) => one.image))
  return containersOf((object as Pod).spec).every(({ one }) => before.has(one.image))
}

export function alwaysPullImages(dialect: Dialect): AdmissionPlugin {
  const { pods } = resourcesOf(dialect)
  const ofPod = ({ spec }: Pod) => containersOf(spec)
  const containers = (request: AdmissionRequest) => {
    const { operation, resource, subresource, object } = request
    if (resource !== pods || subresource !== '' || object === undefined) return []
    if (operation !== 'CREATE' && operation !== 'UPDATE') return []
    return addsNoImage(request) ? [] : ofPod(object as Pod)
  }
  return {
    name: 'AlwaysPullImages',
    mutate(request) {
      for (const { one } of containers(request)) one.imagePullPolicy = 'Always'
    },
    validate(request) {
      const root = FieldPath.root()
      for (const { at, one } of containers(request)) {
        if (one.imagePullPolicy === 'Always') continue
        root.child(`${at}.imagePullPolicy`).unsupported(one.imagePullPolicy ?? '', ['Always'])
      }
      if (root.errors.length === 0) return
      const faults = root.errors.map(({ field, message }) => `${field}: ${message}`)
      throw admissionForbidden(request, joinedErrors(faults))
    },
  }
}
