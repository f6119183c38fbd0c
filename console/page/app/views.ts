/** Every view of the page, in the order of the navigation. */
import type { ComponentType } from 'preact'
import { ClusterView } from '../views/cluster/cluster-view.tsx'
import { JoinView } from '../views/join/join-view.tsx'
import { LabView } from '../views/lab/lab-view.tsx'
import { LessonsView } from '../views/lessons/lessons-view.tsx'
import { RequestsView } from '../views/requests/requests-view.tsx'
import { SchedulingView } from '../views/scheduling/scheduling-view.tsx'
import { TimelineView } from '../views/timeline/timeline-view.tsx'
import { ObjectsView } from '../views/objects/objects-view.tsx'

export interface View {
  /** First part of its place. */
  readonly id: string
  readonly title: string
  readonly component: ComponentType
}

export const views: readonly View[] = [
  { id: 'cluster', title: 'Cluster', component: ClusterView },
  { id: 'objects', title: 'Objects', component: ObjectsView },
  { id: 'timeline', title: 'Timeline', component: TimelineView },
  { id: 'requests', title: 'Requests', component: RequestsView },
  { id: 'join', title: 'Join', component: JoinView },
  { id: 'scheduling', title: 'Scheduling', component: SchedulingView },
  { id: 'lab', title: 'Lab', component: LabView },
  { id: 'lessons', title: 'Lessons', component: LessonsView },
]
