/** The resource group (dynamic resource allocation), off by default. */
import { groupTable, status } from './group-table.ts'

const beta = {
  version: 'v1beta1',
  lifecycle: { introduced: '1.32', deprecated: '1.35', removed: '1.38' },
}

function alpha(kind: string) {
  return {
    kind,
    version: 'v1alpha3',
    storedAs: 'resource/v1beta1',
    lifecycle: {
      introduced: '1.31',
      deprecated: '1.34',
      removed: '1.37',
      replacement: `resource/v1beta1 ${kind}`,
    },
  }
}

const deviceClass = { plural: 'deviceclasses', namespaced: false }
const claim = { plural: 'resourceclaims', subresources: [status] }
const template = { plural: 'resourceclaimtemplates' }
const slice = {
  plural: 'resourceslices',
  namespaced: false,
  selectableFields: ['spec.nodeName', 'spec.driver'],
}

export const resource = groupTable({
  stem: 'resource',
  package: 'resource',
  priority: 15_900,
  versions: { v1beta1: 9, v1alpha3: 1 },
  kinds: {
    deviceClasses: { kind: 'DeviceClass', ...deviceClass, ...beta },
    deviceClassesV1alpha3: { ...deviceClass, ...alpha('DeviceClass') },
    resourceClaims: { kind: 'ResourceClaim', ...claim, ...beta },
    resourceClaimsV1alpha3: { ...claim, ...alpha('ResourceClaim') },
    resourceClaimTemplates: { kind: 'ResourceClaimTemplate', ...template, ...beta },
    resourceClaimTemplatesV1alpha3: { ...template, ...alpha('ResourceClaimTemplate') },
    resourceSlices: { kind: 'ResourceSlice', ...slice, ...beta },
    resourceSlicesV1alpha3: { ...slice, ...alpha('ResourceSlice') },
  },
})
