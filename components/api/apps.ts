/** The apps group. */
import { groupTable, scale, since, status } from './group-table.ts'

const inAll = ['all']
const v1_9 = since('1.9')

export const apps = groupTable({
  stem: 'apps',
  package: 'apps',
  priority: 17_800,
  versions: { v1: 15 },
  kinds: {
    controllerRevisions: { kind: 'ControllerRevision', lifecycle: v1_9 },
    daemonSets: {
      kind: 'DaemonSet',
      shortNames: ['ds'],
      categories: inAll,
      subresources: [status],
      lifecycle: v1_9,
    },
    deployments: {
      kind: 'Deployment',
      shortNames: ['deploy'],
      categories: inAll,
      subresources: [scale, status],
      lifecycle: v1_9,
    },
    replicaSets: {
      kind: 'ReplicaSet',
      shortNames: ['rs'],
      categories: inAll,
      subresources: [scale, status],
      selectableFields: ['status.replicas'],
      lifecycle: v1_9,
    },
    statefulSets: {
      kind: 'StatefulSet',
      shortNames: ['sts'],
      categories: inAll,
      subresources: [scale, status],
      lifecycle: v1_9,
    },
  },
})
