/** MatchAttribute: a constraint that some devices of a claim have one attribute alike (upstream: structured/allocator.go, constraint). */
import type {
  BasicDevice,
  DeviceAttribute,
  DeviceConstraint,
} from '../../../api/generated/types.ts'
import { getOwn } from '../../../machinery/values/json-copy.ts'

/** What has been chosen for a claim so far. */
export interface ChosenDevice {
  readonly request: string
  readonly driver: string
  readonly device: BasicDevice
}

/** Whether `next` may join the devices that were chosen under the same constraint. */
export function mayJoin(
  constraint: DeviceConstraint,
  chosen: readonly ChosenDevice[],
  next: ChosenDevice,
): boolean {
  const { requests = [], matchAttribute = '' } = constraint
  const concerns = ({ request }: ChosenDevice): boolean =>
    requests.length === 0 || requests.includes(request)
  if (!concerns(next)) return true
  const attribute = attributeOf(next, matchAttribute)
  if (attribute === undefined) return false
  const first = chosen.find(concerns)
  if (first === undefined) return true
  const wanted = attributeOf(first, matchAttribute)
  return wanted !== undefined && isSame(attribute, wanted)
}

/** Attributes without a domain are in the driver's. */
function attributeOf(
  { driver, device: { attributes = {} } }: ChosenDevice,
  name: string,
): DeviceAttribute | undefined {
  const slash = name.indexOf('/')
  const isOwn = name.slice(0, slash) === driver
  return getOwn(attributes, name) ?? (isOwn ? getOwn(attributes, name.slice(slash + 1)) : undefined)
}

const forms = ['string', 'int', 'bool', 'version'] as const

function isSame(a: DeviceAttribute, b: DeviceAttribute): boolean {
  const form = forms.find((each) => a[each] !== undefined)
  return form !== undefined && a[form] === b[form]
}
