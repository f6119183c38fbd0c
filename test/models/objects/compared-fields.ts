/** The model of a creator's fields: the general comparison of an object with an empty one of its kind. */
import { schemaOf } from '../../../components/api/schemas.ts'
import { compareFields } from '../../../components/machinery/apply/apply-compare.ts'
import { applyShapeOf } from '../../../components/machinery/apply/apply-shape.ts'
import { unownedMetadata } from '../../../components/machinery/apply/created-fields.ts'
import {
  deepDifferenceOf,
  emptySet,
  isEmptySet,
  setOf,
  unionOf,
} from '../../../components/machinery/apply/field-set.ts'
import { decode } from '../../../components/machinery/schema/decode.ts'
import { finished } from '../../../components/machinery/values/steps.ts'

const unowned = setOf(
  ['f:kind'],
  ['f:apiVersion'],
  ...[...unownedMetadata].map((name) => ['f:metadata', `f:${name}`]),
)

/** As canonical JSON; undefined for no field. */
export function comparedFields(
  name: string,
  object: unknown,
  reset: readonly string[],
): string | undefined {
  const schema = schemaOf(name)
  const empty = decode({}, schema).object
  const { added, modified } = finished(compareFields(applyShapeOf(schema), empty, object))
  const dropped = unionOf(unowned, setOf(...reset.map((field) => [`f:${field}`])))
  const set = deepDifferenceOf(unionOf(emptySet, unionOf(added, modified)), dropped)
  return isEmptySet(set) ? undefined : JSON.stringify(set)
}
