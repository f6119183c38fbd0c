/** ResourceSlice: the principal rules (upstream: pkg/apis/resource/validation). Off by default. */
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { validation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { validateSubdomain, goJson, validateImmutable } from '../rules/field-rules.ts'

interface SliceSpec {
  readonly driver?: string
  readonly pool?: { readonly name?: string; readonly resourceSliceCount?: number }
  readonly nodeName?: string
  readonly nodeSelector?: object
  readonly allNodes?: boolean
}

function validateSlice(object: KubeObject, root: FieldPath): void {
  const at = root.child('spec')
  const spec = (object['spec'] ?? {}) as SliceSpec
  const { driver = '', pool, nodeName = '', nodeSelector, allNodes } = spec
  const homes = [nodeName !== '', Boolean(nodeSelector), allNodes === true].filter(Boolean).length
  if (nodeName !== '') validateSubdomain(nodeName, at.child('nodeName'))
  if (driver === '') at.child('driver').required()
  else validateSubdomain(driver, at.child('driver'))
  if (!pool?.name) at.child('pool').child('name').required()
  const { resourceSliceCount: count = 0 } = pool ?? {}
  if (count <= 0) {
    at.child('pool').child('resourceSliceCount').invalid(count, 'must be greater than zero')
  }
  const why = 'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required'
  if (homes === 0) at.required(why)
  else if (homes > 1) at.invalid(goJson(spec), why)
}

export const resourceSliceStrategy: Strategy = {
  hasGeneration: true,
  ...validation(validateSlice, ({ object, old }: Change<KubeObject>, root) => {
    const at = root.child('spec')
    const [now, before] = [object, old].map((state) => (state['spec'] ?? {}) as SliceSpec)
    const [pool, oldPool] = [now?.pool?.name, before?.pool?.name]
    validateImmutable({ now: now?.driver, before: before?.driver }, at.child('driver'))
    validateImmutable({ now: pool, before: oldPool }, at.child('pool').child('name'))
    validateImmutable({ now: now?.nodeName, before: before?.nodeName }, at.child('nodeName'))
  }),
}
