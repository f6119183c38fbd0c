/** Roles of controllers, and rules of other roles, behind feature gates: a server makes those whose gates are all on. */
import type { FeatureGateName } from '../feature-gates.ts'
import { eventsRule } from './rule-text.ts'

export interface GatedRole {
  /** As in `system:controller:<name>`. */
  readonly name: string
  readonly gates: readonly FeatureGateName[]
  readonly rules: readonly string[]
}

export const gatedControllerRoles: readonly GatedRole[] = [
  {
    name: 'resource-claim-controller',
    gates: ['DynamicResourceAllocation'],
    rules: [
      'read core pods',
      'update core pods/finalizers',
      'create,delete,get,list,watch resource resourceclaims',
      'patch,update resource resourceclaims,resourceclaims/status',
      'patch,update core pods/status',
      eventsRule,
    ],
  },
  {
    name: 'service-cidrs-controller',
    gates: ['MultiCIDRServiceAllocator'],
    rules: [
      'get,list,patch,update,watch networking servicecidrs',
      'patch,update networking servicecidrs/finalizers',
      'patch,update networking servicecidrs/status',
      'read networking ipaddresses',
      eventsRule,
    ],
  },
  {
    name: 'volumeattributesclass-protection-controller',
    gates: ['VolumeAttributesClass'],
    rules: [
      'read core persistentvolumeclaims',
      'read core persistentvolumes',
      'get,list,update,watch storage volumeattributesclasses',
      eventsRule,
    ],
  },
  {
    name: 'kube-apiserver-serving-clustertrustbundle-publisher',
    gates: ['ClusterTrustBundle'],
    rules: [
      'attest certificates signers {label}/kube-apiserver-serving',
      'create,delete,list,update,watch certificates clustertrustbundles',
      eventsRule,
    ],
  },
  {
    name: 'selinux-warning-controller',
    gates: ['SELinuxChangePolicy'],
    rules: [
      'read core persistentvolumeclaims',
      'read core persistentvolumes',
      'read core pods',
      'read storage csidrivers',
      eventsRule,
    ],
  },
  {
    name: 'storage-version-migrator-controller',
    gates: ['StorageVersionMigrator'],
    // An apply to an object that is gone counts as a create, which the uid in it makes fail.
    rules: ['create,list,patch * *', 'update storagemigration storageversionmigrations/status'],
  },
  {
    name: 'storage-version-garbage-collector',
    gates: ['APIServerIdentity', 'StorageVersionAPI'],
    rules: [
      'read coordination leases',
      'delete,get,list,patch,update,watch internal.apiserver storageversions',
      'get,patch,update internal.apiserver storageversions/status',
    ],
  },
]

/** Rules of other roles behind gates, by the role's name. */
export const gatedClusterRules: readonly GatedRole[] = [
  {
    name: 'system:kube-scheduler',
    gates: ['DynamicResourceAllocation'],
    rules: [
      'read resource deviceclasses',
      'get,list,patch,update,watch resource resourceclaims',
      'get,list,patch,update,watch resource resourceclaims/status',
      'read resource resourceslices',
    ],
  },
  {
    name: 'system:node',
    gates: ['DynamicResourceAllocation'],
    rules: [
      'get resource resourceclaims',
      'deletecollection,get,list,watch resource resourceslices',
      'create,delete,patch,update resource resourceslices',
    ],
  },
]
