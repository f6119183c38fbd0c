/** Scale: another number of replicas, through the subresource scale, so that it works for custom kinds too. */
import { useEffect, useState } from 'preact/hooks'
import { read, send } from '../../../app/api.ts'
import { OperationFrame } from './operation-frame.tsx'
import { replicasOf } from './operations.ts'
import type { OperationProps } from './operation-props.ts'
import { useSending } from './use-sending.ts'

interface ScaleObject {
  readonly spec?: { readonly replicas?: number }
}

export function Scale({ object, path, onLeave }: OperationProps) {
  const [text, setText] = useState('')
  const [current, setCurrent] = useState<number>()
  const sending = useSending()
  const scalePath = `${path}/scale`
  useEffect(() => {
    sending.run(
      async () => {
        const { spec } = await read<ScaleObject>(scalePath)
        const replicas = spec?.replicas ?? 0
        setCurrent(replicas)
        setText(String(replicas))
      },
      () => {},
    )
  }, [scalePath])
  const replicas = replicasOf(text)
  const scale = (): void =>
    sending.run(
      () =>
        send(scalePath, {
          method: 'PATCH',
          contentType: 'application/merge-patch+json',
          body: { spec: { replicas } },
        }),
      onLeave,
    )
  return (
    <OperationFrame
      title={`Scale ${object.kind} ${object.metadata.name}`}
      label="Scale"
      isDisabled={sending.isSending || replicas === undefined || replicas === current}
      fault={sending.fault}
      onConfirm={scale}
      onLeave={onLeave}
    >
      <p>
        <label>
          Replicas{' '}
          <input
            inputMode="numeric"
            size={6}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>{' '}
        {current !== undefined && <span class="dim">now {current}</span>}
      </p>
      {text !== '' && replicas === undefined && (
        <p class="note" role="status">
          "{text}" is not a number of replicas: type a whole number from 0.
        </p>
      )}
    </OperationFrame>
  )
}
