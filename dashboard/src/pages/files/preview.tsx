/** What a file looks like: the picture, film or sound itself where browsers show it, otherwise a sign of its type. */
import {
  IconFile,
  IconFileMusic,
  IconFileText,
  IconFileTypePdf,
  IconFileZip,
  IconMovie,
  IconPhoto,
} from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { client } from '../../api/client.ts';
import type { ShownFile } from './file-list.ts';
import classes from './files.module.css';

/** Larger ones would make a page of many files slow. */
const MAX_PICTURE_BYTES = 8_000_000;
const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'];
const FILMS = ['video/mp4', 'video/webm'];

/** @param large with controls, for one file alone */
export function Preview({ file, large = false }: { readonly file: ShownFile; readonly large?: boolean }) {
  const { id, type, size } = file;
  const isPicture = PICTURES.includes(type) && size <= MAX_PICTURE_BYTES;
  const isPlayed = large && (FILMS.includes(type) || type === 'audio/mpeg');
  const address = useAddress(isPicture || isPlayed ? id : null);
  const [isBroken, setBroken] = useState(false);
  return (
    <div className={large ? `${classes.preview} ${classes.large}` : classes.preview}>
      {address === null || isBroken ? (
        <Sign type={type} />
      ) : isPicture ? (
        <img src={address} alt="" loading="lazy" onError={() => setBroken(true)} />
      ) : type === 'audio/mpeg' ? (
        <audio src={address} controls aria-label={file.name}>
          <track kind="captions" />
        </audio>
      ) : (
        <video src={address} controls aria-label={file.name}>
          <track kind="captions" />
        </video>
      )}
    </div>
  );
}

/** An address that needs no credential; null before it is known, and for no file. */
export function useAddress(id: string | null): string | null {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    setAddress(null);
    if (id === null) return;
    let isWanted = true;
    client.files.address(id).then(
      (signed) => isWanted && setAddress(onThisServer(signed)),
      // The sign of the type is shown instead.
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, [id]);
  return address;
}

/** The server names its public address; the page may be open under another one, and loads pictures from there only. */
function onThisServer(address: string): string {
  const { pathname, search } = new URL(address);
  return pathname + search;
}

function Sign({ type }: { readonly type: string }) {
  const [kind] = type.split('/');
  const Icon =
    kind === 'image'
      ? IconPhoto
      : kind === 'video'
        ? IconMovie
        : kind === 'audio'
          ? IconFileMusic
          : type === 'application/pdf'
            ? IconFileTypePdf
            : /zip|tar|compressed/.test(type)
              ? IconFileZip
              : kind === 'text' || type === 'application/json'
                ? IconFileText
                : IconFile;
  return <Icon size={40} stroke={1.2} aria-hidden />;
}
