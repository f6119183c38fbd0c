/** OperationView: the operation that the viewer has chosen, before it is confirmed and while it runs. */
import { Drain } from './drain.tsx'
import type { OperationProps } from './operation-props.ts'
import type { Operation } from './operations.ts'
import { Restart } from './restart.tsx'
import { Scale } from './scale.tsx'
import { Uncordon } from './uncordon.tsx'

const views = { scale: Scale, restart: Restart, drain: Drain, uncordon: Uncordon } as const

export function OperationView({
  operation,
  ...props
}: OperationProps & { readonly operation: Operation }) {
  const View = views[operation]
  return <View {...props} />
}
