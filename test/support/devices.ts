/** Devices, classes and claims for tests, with only what a test says. */
import type {
  Device,
  DeviceClass,
  DeviceConstraint,
  DeviceRequest,
  Pod,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
  ResourceSliceSpec,
} from '../../components/api/generated/types.ts'

export const driver = 'gpu.example.com'

type Attributes = NonNullable<NonNullable<Device['basic']>['attributes']>

export function device(name: string, attributes: Attributes = {}, memory?: string): Device {
  const capacity = memory === undefined ? {} : { capacity: { memory: { value: memory } } }
  return { name, basic: { attributes, ...capacity } }
}

/** A whole pool of one node, unless `spec` says otherwise. */
export function slice(
  name: string,
  devices: readonly (Device | string)[],
  spec: Partial<ResourceSliceSpec> = { nodeName: 'n1' },
): ResourceSlice {
  return {
    metadata: { name, uid: `slice-${name}` },
    spec: {
      driver,
      pool: { name, generation: 1, resourceSliceCount: 1 },
      devices: devices.map((one) => (typeof one === 'string' ? device(one) : one)),
      ...spec,
    },
  }
}

export function deviceClass(name = 'gpu', expression?: string): DeviceClass {
  const selectors = expression === undefined ? [] : [{ cel: { expression } }]
  return { metadata: { name, uid: `class-${name}` }, spec: { selectors } }
}

export function asks(wishes: Partial<DeviceRequest> = {}): DeviceRequest {
  return { name: 'req', deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 1, ...wishes }
}

export function selecting(expression: string): Pick<DeviceRequest, 'selectors'> {
  return { selectors: [{ cel: { expression } }] }
}

export function deviceClaim(
  name: string,
  requests: readonly DeviceRequest[] = [asks()],
  constraints: readonly DeviceConstraint[] = [],
): ResourceClaim {
  return {
    metadata: { name, namespace: 'default', uid: `claim-${name}` },
    spec: { devices: { requests: [...requests], constraints: [...constraints] } },
  }
}

export function deviceTemplate(name: string, requests = [asks()]): ResourceClaimTemplate {
  return {
    metadata: { name, namespace: 'default', uid: `template-${name}` },
    spec: { metadata: { labels: { made: 'yes' } }, spec: { devices: { requests } } },
  }
}

/** A pod that uses these claims, by name. */
export function podWithDevices(name: string, ...claims: readonly string[]): Pod {
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: {
      containers: [],
      schedulerName: 'default-scheduler',
      resourceClaims: claims.map((claim) => ({ name: claim, resourceClaimName: claim })),
    },
    status: { phase: 'Pending' },
  }
}
