/** ServiceCIDR (upstream: pkg/apis/networking/validation, pkg/registry/networking/servicecidr). */
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList } from '../../../machinery/values/go-syntax.ts'
import { validateIpRange, isDualStack } from '../../../machinery/validation/ip-address.ts'
import { createValidation, updateValidation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { goJson, validateImmutable } from '../rules/field-rules.ts'

const maxRanges = 2

function rangesOf(object: KubeObject): readonly string[] {
  return (object['spec'] as { cidrs?: string[] } | undefined)?.cidrs ?? []
}

function validateRanges(object: KubeObject, root: FieldPath): void {
  const at = root.child('spec').child('cidrs')
  const ranges = rangesOf(object)
  if (ranges.length === 0) at.required('at least one CIDR required')
  else if (ranges.length > maxRanges) {
    at.invalid(goJson(object['spec']), 'may only hold up to 2 values')
  } else if (ranges.length === maxRanges && !isDualStack(ranges)) {
    const why =
      'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64'
    at.invalid(goList(ranges), why)
  } else for (const [i, range] of ranges.entries()) validateIpRange(range, at.index(i))
}

export const serviceCidrStrategy: Strategy = {
  prepareForCreate(object) {
    object['status'] = {}
  },
  validate: createValidation(validateRanges),
  validateUpdate: updateValidation(({ object, old }: Change<KubeObject>, root) => {
    const at = root.child('spec').child('cidrs')
    const now = rangesOf(object)
    validateImmutable({ now, before: rangesOf(old), shown: goList(now) }, at)
  }),
}
